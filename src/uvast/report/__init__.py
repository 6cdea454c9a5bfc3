"""One page about a run, a benchmark or a folder of predictions, or the same as figures.

content     the records that make up a report
sources     finds out which of the three a path is
of_run, of_predictions, of_benchmark      a path to a `Report`
of_agreement       a comparison of two annotators to a `Report`
page, figures      a `Report` to an HTML file, or to PNG and SVG files
palette     the colours of classes, shared by both
action_times       the time spent in each action, also as CSV

Only `of_run` needs torch, so it is not imported here.
"""

from uvast.report.action_times import write_action_times
from uvast.report.content import Report
from uvast.report.figures import check_figures, write_figures
from uvast.report.of_benchmark import report_benchmark
from uvast.report.of_predictions import report_predictions
from uvast.report.page import write_page
from uvast.report.sources import report_kind

__all__ = [
    "Report",
    "check_figures",
    "report_benchmark",
    "report_kind",
    "report_predictions",
    "write_action_times",
    "write_figures",
    "write_page",
]
