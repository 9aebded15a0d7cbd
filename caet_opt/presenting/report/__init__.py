"""A page about a folder of results: one HTML file with its data, charts and filters inside, for any browser."""

from caet_opt.presenting.report.page import report_page, require_extra

__all__ = ["report_page", "require_extra"]
