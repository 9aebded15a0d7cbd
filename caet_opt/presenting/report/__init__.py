"""A page about a folder of results: one HTML file with its data, charts and filters inside, for any browser."""

from caet_opt.presenting.report.page import report_page
from caet_opt.presenting.report.render import require_extra

__all__ = ["report_page", "require_extra"]
