"""Summaries as tables for a terminal."""

from __future__ import annotations

from rich.table import Table as RichTable
from rich.text import Text

from sqlmetrics.evaluation.report import EvaluationReport
from sqlmetrics.evaluation.summary import GroupSummary
from sqlmetrics.results import MetricResult, Status

__all__ = ["result_line", "summary_table", "visible"]

_GOOD, _FAIR = 0.8, 0.5


def summary_table(report: EvaluationReport, title: str | None = None) -> RichTable:
    """The report's summary as a table: one row a metric and group.

    Args:
        report: The report.
        title: What to write above the table.

    Returns:
        A table to print with rich.
    """
    rows = report.summary()
    table = RichTable(title=Text(title) if title else None, title_justify="left", header_style="bold")
    several = len(report.results) > 1
    labels = _labels(list(report.results))
    if several:
        table.add_column("policy" if set(labels) != set(labels.values()) else "metric", overflow="fold")
    for key in report.by:
        table.add_column(Text(key), overflow="fold")
    for name in ("items", "judged", "mean", "strict", "empty passes"):
        table.add_column(name, justify="right", min_width=5)
    table.add_column("statuses", overflow="fold")
    for row in rows:
        names = [Text(labels[row.metric])] if several else []
        groups = [Text(visible(row.group.get(key, "all"))) for key in report.by]
        table.add_row(*names, *groups, *_figures(row), end_section=not row.group)
    return table


def _labels(names: list[str]) -> dict[str, str]:
    """What stands for each metric: only its policy, if all are one metric under several."""
    if len({name.partition("[")[0] for name in names}) == 1 and all(name.endswith("]") for name in names):
        return {name: name.partition("[")[2][:-1] for name in names}
    return {name: name for name in names}


def _figures(row: GroupSummary) -> list[Text | str]:
    """The cells of one row behind its names."""
    statuses = "\n".join(f"{status} {count}" for status, count in row.status_counts.items())
    return [
        str(row.item_count),
        str(row.judged_count),
        _score(row.mean),
        _score(row.strict_mean),
        str(row.empty_pass_count),
        statuses,
    ]


def _score(value: float | None) -> Text:
    """A mean, coloured by how good it is."""
    if value is None:
        return Text("-", style="dim")
    return Text(f"{value:.3f}", style="green" if value >= _GOOD else "yellow" if value >= _FAIR else "red")


def result_line(result: MetricResult) -> Text:
    """One result in one line: value, status, reason."""
    if result.value is None:
        mark, style = "?", "yellow"
    else:
        mark, style = f"{result.value:g}", "green" if result.value else "red"
    what = "wrong" if result.value == 0 and result.status == Status.OK else result.status.value
    return Text.assemble((f"{mark:>4} ", style), (f"{what}: ", "bold"), visible(result.reason))


def visible(text: str) -> str:
    """Write line breaks as spaces and escape control characters, so that no text can steer the terminal.

    Examples:
        >>> visible("a\\x1b[31mb\\nc")
        'a\\\\x1b[31mb c'
    """
    text = " ".join(text.split("\n"))
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
