"""A comparison in words: one or two sentences with one differing row from each side, never thousands."""

from __future__ import annotations

from collections.abc import Iterable

from sqlmetrics.results import ReasonCode
from sqlmetrics.tables.compare import TableComparison
from sqlmetrics.tables.differences import Differences
from sqlmetrics.tables.table import Row, Table
from sqlmetrics.tables.values import show

__all__ = ["describe_difference", "describe_equality", "printable", "shape", "show_row", "shown_rows"]

SHOWN_CELLS = 8
SHOWN_TEXT = 2_000

_SENTENCES = {
    ReasonCode.ROW_ORDER: "the rows agree, but not in the order that the gold asks for",
    ReasonCode.ROW_MULTIPLICITY: "the same distinct rows, but not equally often",
    ReasonCode.MISSING_ROWS: "rows of the gold are missing",
    ReasonCode.EXTRA_ROWS: "there are rows that the gold lacks",
    ReasonCode.MISSING_COLUMNS: "the prediction has too few columns",
    ReasonCode.EXTRA_COLUMNS: "the prediction has columns that the gold lacks",
    ReasonCode.COLUMN_ORDER: "the columns agree, but in another order",
    ReasonCode.VALUES_DIFFER: "values differ",
    ReasonCode.SINGLE_CELL_DIFFERENCE: "a single cell differs",
    ReasonCode.TYPE_ONLY: "the values differ in type only",
    ReasonCode.NULL_ONLY: "they differ only where one side is NULL",
    ReasonCode.CASE_ONLY: "texts differ in letter case only",
    ReasonCode.WHITESPACE_ONLY: "texts differ in white space only",
    ReasonCode.ROUNDING_ONLY: "numbers differ by rounding only",
    ReasonCode.BOTH_EMPTY: "both results are empty",
    ReasonCode.GOLD_EMPTY: "the gold result is empty, the prediction's is not",
    ReasonCode.TIE_ACCEPTED: "another right choice among rows that tie at the gold's LIMIT",
    ReasonCode.DISTINCT_STRIPPED: "the Spider test suite, which strips DISTINCT, says otherwise",
    ReasonCode.PREDICTION_EMPTY: "the prediction's result is empty, the gold's is not",
}


def printable(text: str) -> str:
    """Make any text fit for JSON and a terminal: bytes that are no text become escapes, and its length is bounded.

    Examples:
        >>> printable("Z\\udcfcrs")
        'Z\\\\udcfcrs'
    """
    if len(text) <= SHOWN_TEXT and text.isascii():
        return text
    cut = text if len(text) <= SHOWN_TEXT else text[:SHOWN_TEXT] + "…"
    return cut.encode("utf-8", "backslashreplace").decode("utf-8")


def show_row(row: Row) -> str:
    """Write one row for a person."""
    cells = [show(value) for value in row[:SHOWN_CELLS]]
    return "(" + ", ".join(cells) + (", …)" if len(row) > SHOWN_CELLS else ")")


def shown_rows(rows: Iterable[Row]) -> tuple[tuple[str, ...], ...]:
    """Rows as bounded, printable texts, for details that go into JSON."""
    return tuple(tuple(map(show, row[:SHOWN_CELLS])) for row in rows)


def shape(table: Table) -> str:
    """The size of a table in words.

    Examples:
        >>> shape(Table(["a", "b"], [(1, 2)]))
        '1 row x 2 columns'
    """
    rows, columns = len(table.rows), len(table.columns)
    return f"{rows} row{'s' * (rows != 1)} x {columns} column{'s' * (columns != 1)}"


def describe_equality(comparison: TableComparison, gold: Table) -> str:
    """Say that two tables are equal, with what is worth knowing about it."""
    notes = []
    if ReasonCode.BOTH_EMPTY in comparison.codes:
        notes.append("both results are empty, so this says little")
    if ReasonCode.COLUMN_ORDER in comparison.codes:
        notes.append("the columns come in another order")
    if ReasonCode.EXTRA_COLUMNS in comparison.codes:
        notes.append("the prediction has extra columns, which this policy allows")
    return f"equal, {shape(gold)}" + "".join(f"; {note}" for note in notes)


def describe_difference(comparison: TableComparison, predicted: Table, gold: Table) -> str:
    """Say how two tables differ, with an example from each side.

    Args:
        comparison: What `compare` found.
        predicted: The predicted table.
        gold: The gold table.

    Returns:
        One or two sentences without a leading capital.
    """
    lead = _SENTENCES[comparison.codes[0]] if comparison.codes else "the tables differ"
    parts = [f"{lead} (prediction {shape(predicted)}, gold {shape(gold)})"]
    found = comparison.differences
    if found is None:
        return parts[0]
    if ReasonCode.MISSING_COLUMNS in comparison.codes and found.missing_columns:
        parts.append("not answered: " + ", ".join(map(show, found.missing_columns[:SHOWN_CELLS])))
    if ReasonCode.EXTRA_COLUMNS in comparison.codes and found.extra_columns:
        parts.append("extra: " + ", ".join(map(show, found.extra_columns[:SHOWN_CELLS])))
    if comparison.codes[:1] == (ReasonCode.ROW_ORDER,):
        parts.append(_misplaced_row(found, predicted, gold))
    if found.missing_rows:
        parts.append(f"only in the gold ({found.missing_row_count}): {show_row(found.missing_rows[0])}")
    if found.extra_rows:
        parts.append(f"only in the prediction ({found.extra_row_count}): {show_row(found.extra_rows[0])}")
    return "; ".join(part for part in parts if part)


def _misplaced_row(found: Differences, predicted: Table, gold: Table) -> str:
    """The first place at which two row sequences part, on the columns that are paired."""
    if found.misplaced is None:
        return ""
    paired = [(p, g) for g, p in enumerate(found.pairing) if p is not None]
    row, expected = predicted.rows[found.misplaced], gold.rows[found.misplaced]
    shown, wanted = show_row(tuple(row[p] for p, _ in paired)), show_row(tuple(expected[g] for _, g in paired))
    return f"row {found.misplaced + 1} is {shown}, in the gold {wanted}"
