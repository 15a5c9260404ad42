"""What published evaluators would say of a pair: that is how people find out why their number differs from ours."""

from __future__ import annotations

from sqlmetrics.metrics.answers import AnswerReader
from sqlmetrics.sql.order import mentions_order_by
from sqlmetrics.sql.statements import strip_distinct
from sqlmetrics.tables.compare import match_tables
from sqlmetrics.tables.policy import POLICIES
from sqlmetrics.tables.table import Table

__all__ = ["KEPT_PREDICTED_ROWS", "PUBLISHED", "published_verdicts"]

PUBLISHED = ("bird", "test_suite")
"""The policies whose verdict stands beside ours."""

KEPT_PREDICTED_ROWS = 16
"""Predictions seldom come back under another gold: only small results are worth their memory."""


def published_verdicts(
    tables: tuple[Table, Table], sqls: tuple[str | None, str | None], reader: AnswerReader
) -> tuple[dict[str, bool | None], bool]:
    """Say what BIRD's evaluator and the Spider test suite would say of a pair.

    Args:
        tables: The predicted and the gold result.
        sqls: The queries that gave them; `None` for a result that was given.
        reader: Runs a query again without its DISTINCTs, which the test suite strips.

    Returns:
        The verdict of each policy (`None` where it cannot be had), and whether the test suite's hangs on DISTINCT being
        stripped.
    """
    predicted, gold = tables
    distinct = predicted is not gold and any(sql is not None and "distinct" in sql.lower() for sql in sqls)
    if not distinct and predicted.rows == gold.rows:
        return dict.fromkeys(PUBLISHED, len(predicted.columns) == len(gold.columns) or not gold.rows), False
    kept = _test_suite(predicted, gold, sqls[1])
    verdicts = {"bird": match_tables(predicted, gold, POLICIES["bird"]).equal, "test_suite": kept}
    if not distinct:
        return verdicts, False
    again, gold_again = (_without_distinct(table, sql, reader) for table, sql in zip(tables, sqls, strict=True))
    verdicts["test_suite"] = None if again is None or gold_again is None else _test_suite(again, gold_again, sqls[1])
    return verdicts, verdicts["test_suite"] is not None and verdicts["test_suite"] != kept


def _test_suite(predicted: Table, gold: Table, gold_sql: str | None) -> bool | None:
    """What the Spider test suite says of two tables; rows count in order if the gold mentions ORDER BY anywhere."""
    policy = POLICIES["test_suite"]
    match = match_tables(predicted, gold, policy)
    if match.equal and not match.same_sequence and gold_sql is not None and mentions_order_by(gold_sql):
        match = match_tables(predicted, gold, policy, blocks=range(len(gold.rows)))
    return match.equal


def _without_distinct(table: Table, sql: str | None, reader: AnswerReader) -> Table | None:
    """The result of a query without its DISTINCTs; `None` if that fails."""
    if sql is None or "distinct" not in sql.lower():
        return table
    answer = reader.read(strip_distinct(sql, reader.database.dialect), keep_rows=KEPT_PREDICTED_ROWS)
    return None if answer.truncated else answer.table
