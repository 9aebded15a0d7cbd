"""Pages for any browser, each one HTML file with its data, charts and filters inside: of results, of an experiment."""

from caet_opt.presenting.report.experiment import experiment_page
from caet_opt.presenting.report.page import report_page
from caet_opt.presenting.report.render import require_extra

__all__ = ["experiment_page", "report_page", "require_extra"]
