"""The two sides of an item as tables, and what becomes of a side that has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlmetrics.databases.base import Database
from sqlmetrics.databases.deadline import Cancellation
from sqlmetrics.errors import (
    DatabaseError,
    QueryError,
    QueryRejectedError,
    QueryTimeoutError,
    ResultTooLargeError,
)
from sqlmetrics.metrics.queries import (
    KEPT_ROWS,
    DatabaseSource,
    QuerySession,
    as_database_source,
    as_table,
    find_database,
)
from sqlmetrics.results import Status
from sqlmetrics.tables.table import Table

__all__ = ["Answer", "AnswerReader", "Fault", "gold_fault", "prediction_fault"]


class Answer(NamedTuple):
    """One side of an item: a table, or why there is none.

    Attributes:
        table: The result; `None` if the query failed or was missing.
        sql: The query, if the side was given as one.
        error: What the query ended with.
        elapsed_s: Seconds that the query took.
        truncated: Whether the result was cut at the caps.
        undecodable: Whether bytes that are no text were met.
        problem: Why the value that was passed is neither a query nor a table.
    """

    table: Table | None = None
    sql: str | None = None
    error: DatabaseError | None = None
    elapsed_s: float | None = None
    truncated: bool = False
    undecodable: bool = False
    problem: str | None = None

    @property
    def comparable(self) -> Table | None:
        """The whole result; `None` if there is none or it was cut."""
        return None if self.truncated else self.table


class Fault(NamedTuple):
    """Why a side cannot be compared: the status it leads to, its value and the reason."""

    status: Status
    value: float | None
    reason: str


class AnswerReader:
    """Reads the sides of one item: runs queries through the session, takes tables as they are.

    Args:
        row: The item's arguments.
        database: The metric's own database, unless the item brings one.
        session: Remembers outcomes of queries.
        cancellation: Lets the caller stop queries.
        exact_text: Whether the spelling of column names matters; see `QuerySession.run`.
    """

    def __init__(
        self,
        row: Mapping[str, Any],
        database: DatabaseSource,
        session: QuerySession,
        cancellation: Cancellation | None,
        *,
        exact_text: bool = False,
    ) -> None:
        """Keep where to look."""
        self._exact_text = exact_text
        self._row = row
        self._source = database
        self._found: Database | None = None
        self.session = session
        self.cancellation = cancellation

    @property
    def database(self) -> Database:
        """The item's database.

        Raises:
            ConfigurationError: There is none, or the `db_id` is unknown.
        """
        if self._found is None:
            own = self._row.get("database")
            source = self._source if own is None else as_database_source(own)
            self._found = find_database(source, self._row.get("db_id"))
        return self._found

    def read(self, value: Any, *, timeout_s: float | None = None, keep_rows: int = KEPT_ROWS) -> Answer:
        """Turn what was passed for a side into an answer.

        Args:
            value: SQL text, a `Table`, a DataFrame, or something wrong.
            timeout_s: A deadline instead of the database's own.
            keep_rows: A result of more rows is not remembered.

        Returns:
            The answer.

        Raises:
            ConfigurationError: There is no database to run the query on, or it cannot be opened.
        """
        if isinstance(value, str):
            outcome = self.session.run(
                self.database,
                value,
                timeout_s=timeout_s,
                cancellation=self.cancellation,
                keep_rows=keep_rows,
                exact_text=self._exact_text,
            )
            result = outcome.result
            if result is None:
                return Answer(sql=value, error=outcome.error)
            return Answer(result.table, value, None, result.elapsed_s, result.truncated, result.undecodable)
        if value is None:
            return Answer()
        table = as_table(value)
        if table is None:
            return Answer(problem=f"expected SQL text, a Table or a DataFrame, but got {type(value).__name__}")
        return Answer(table)


def prediction_fault(answer: Answer, database: Database | None) -> Fault | None:
    """What a prediction without a comparable table leads to; `None` if it has one."""
    if answer.problem:
        return Fault(Status.PRED_ERROR, 0.0, f"The prediction is no query: {answer.problem}.")
    if answer.truncated and database is not None:
        return Fault(Status.RESULT_TOO_LARGE, 0.0, f"The prediction's result was cut {_caps(database)}.")
    if answer.table is not None:
        return None
    if answer.error is None:
        return Fault(Status.MISSING, 0.0, "There is no prediction.")
    for kind, status, what in _PREDICTION_ERRORS:
        if isinstance(answer.error, kind):
            return Fault(status, 0.0, f"The prediction {what}: {answer.error}")
    return Fault(Status.DATABASE_ERROR, None, f"The database failed: {answer.error}")


_PREDICTION_ERRORS: tuple[tuple[type[QueryError], Status, str], ...] = (
    (QueryRejectedError, Status.REJECTED, "was refused"),
    (QueryTimeoutError, Status.PRED_TIMEOUT, "did not end"),
    (ResultTooLargeError, Status.RESULT_TOO_LARGE, "returns too much"),
    (QueryError, Status.PRED_ERROR, "fails"),
)
"""The kinds of errors from the special to the general."""


def gold_fault(answer: Answer, database: Database | None) -> Fault | None:
    """What a gold without a comparable table leads to; `None` if it has one."""
    if answer.problem:
        return Fault(Status.GOLD_ERROR, None, f"The gold is no query: {answer.problem}.")
    if answer.truncated and database is not None:
        return Fault(Status.GOLD_ERROR, None, f"The gold's result was cut {_caps(database)}; raise the cap.")
    if answer.table is not None:
        return None
    if answer.error is None:
        return Fault(Status.MISSING, None, "There is no gold to compare with.")
    if isinstance(answer.error, QueryTimeoutError):
        return Fault(
            Status.GOLD_TIMEOUT, None, f"The gold did not end: {answer.error} Give it more with gold_timeout_s."
        )
    if isinstance(answer.error, QueryError):
        return Fault(Status.GOLD_ERROR, None, f"The gold query fails: {answer.error}")
    return Fault(Status.DATABASE_ERROR, None, f"The database failed: {answer.error}")


def _caps(database: Database) -> str:
    """The caps that cut a result, in words."""
    return f"at max_rows={database.limits.max_rows:,} or max_bytes={database.limits.max_bytes:,}"
