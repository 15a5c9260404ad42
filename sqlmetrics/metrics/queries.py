"""From what a caller passes (SQL, a table, a DataFrame) to a result table, each distinct query run once a batch."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from threading import Lock
from typing import Any, NamedTuple

from sqlmetrics.databases.base import Database, QueryLimits, QueryResult
from sqlmetrics.databases.catalog import DatabaseCatalog
from sqlmetrics.databases.connect import connect
from sqlmetrics.databases.deadline import Cancellation
from sqlmetrics.errors import ConfigurationError, DatabaseError
from sqlmetrics.results import MetricResult
from sqlmetrics.sql.statements import folded
from sqlmetrics.tables.table import Table

__all__ = ["DatabaseSource", "Outcome", "QuerySession", "as_database_source", "as_table", "find_database"]

DatabaseSource = Database | DatabaseCatalog | None
KEPT_CELLS = 2_000_000
KEPT_RESULTS = 20_000
KEPT_ROWS = 20_000
_Key = tuple[int, str, float | None]


class Outcome(NamedTuple):
    """How one query ended: with a result or with an error."""

    result: QueryResult | None
    error: DatabaseError | None = None

    @property
    def cell_count(self) -> int:
        """How many cells this outcome keeps in memory."""
        return len(self.result.table.rows) * len(self.result.table.columns) if self.result else 1


class QuerySession:
    """Runs queries and remembers their outcomes, so that a batch runs each (database, query) once.

    Safe to use from many threads: whoever asks for a query that is running waits for it. Memory is bounded; the
    oldest outcomes are forgotten first.
    """

    def __init__(self) -> None:
        """Start with nothing remembered."""
        self._outcomes: OrderedDict[_Key, Outcome] = OrderedDict()
        self._running: dict[_Key, Lock] = {}
        self._databases: dict[int, Database] = {}
        self._cells = 0
        self._lock = Lock()
        self._results: dict[tuple[Any, ...], tuple[Any, MetricResult]] = {}

    def run(
        self,
        database: Database,
        sql: str,
        *,
        timeout_s: float | None = None,
        cancellation: Cancellation | None = None,
        keep_rows: int = KEPT_ROWS,
        exact_text: bool = False,
        max_rows: int | None = None,
    ) -> Outcome:
        """Run a query, or return what it gave before.

        Args:
            database: Where to run it.
            sql: The query.
            timeout_s: A deadline instead of the database's own.
            cancellation: Lets the caller stop it.
            keep_rows: A result of more rows is not remembered.
            exact_text: Whether two texts count as two queries even if they differ only in letter case and white
                space outside quotes, where the engine does not care; the spelling of result columns may differ then.
            max_rows: A row cap instead of the database's own, if it is higher.

        Returns:
            Its result, or the error that it ended with.

        Raises:
            ConfigurationError: The database cannot be opened.
        """
        key = (id(database), folded(sql) if database.folds_case and not exact_text else sql, timeout_s)
        while True:
            with self._lock:
                outcome = self._outcomes.get(key)
                if outcome is not None:
                    return outcome
                latch = self._running.get(key)
                if latch is None:
                    latch = self._running[key] = Lock()
                    latch.acquire()
                    break
            with latch:  # another thread runs this query: wait until it has ended, then look again
                pass
        try:
            limits = database.limits
            if timeout_s or (max_rows or 0) > limits.max_rows:
                limits = replace(
                    limits, timeout_s=timeout_s or limits.timeout_s, max_rows=max(max_rows or 0, limits.max_rows)
                )
            outcome = _run(database, sql, limits, cancellation)
            with self._lock:
                self._databases[key[0]] = database  # keeps the id from being used again
                if outcome.result is None or len(outcome.result.table.rows) <= keep_rows:
                    self._remember(key, outcome)
        finally:
            with self._lock:
                del self._running[key]
            latch.release()
        return outcome

    def recall(self, key: tuple[Any, ...]) -> MetricResult | None:
        """The result that was kept under a key."""
        kept = self._results.get(key)
        return kept[1] if kept else None

    def keep(self, key: tuple[Any, ...], owners: tuple[Any, ...], result: MetricResult) -> None:
        """Keep a result; its owners, whose ids are in the key, are kept with it."""
        if len(self._results) >= KEPT_RESULTS:
            self._results.clear()
        self._results[key] = (owners, result)

    def _remember(self, key: _Key, outcome: Outcome) -> None:
        """Keep an outcome and forget the oldest ones beyond the bounds."""
        self._outcomes[key] = outcome
        self._cells += outcome.cell_count
        while self._cells > KEPT_CELLS or len(self._outcomes) > KEPT_RESULTS:
            self._cells -= self._outcomes.popitem(last=False)[1].cell_count


def _run(database: Database, sql: str, limits: QueryLimits, cancellation: Cancellation | None) -> Outcome:
    """Run one query and turn its error into data."""
    try:
        return Outcome(database.run(sql, limits=limits, cancellation=cancellation))
    except DatabaseError as error:
        # Kept as data: a traceback would keep the frames of the failed call, and all that they hold, in memory.
        error.__cause__ = error.__context__ = None
        return Outcome(None, error.with_traceback(None))


def as_database_source(database: Any) -> DatabaseSource:
    """Turn what a caller passes as `database=` into a database or a catalog.

    Args:
        database: A `Database`, a `DatabaseCatalog`, a target for `connect`, a pattern with `{db_id}`, a mapping or a
            function for `DatabaseCatalog`, or `None`.

    Returns:
        The database, the catalog, or `None`.

    Raises:
        ConfigurationError: It is none of those.
    """
    if database is None or isinstance(database, Database | DatabaseCatalog):
        return database
    if hasattr(database, "cursor"):
        raise ConfigurationError(
            f"Expected a path, a URL or a Database, but got an open connection ({type(database).__name__}); give the "
            "path: queries run on connections of their own, which cannot write."
        )
    if isinstance(database, Mapping) or callable(database) or "{db_id}" in str(database):
        return DatabaseCatalog(database)
    return connect(database)


def find_database(source: DatabaseSource, db_id: str | None) -> Database:
    """Choose the database of one item.

    Raises:
        ConfigurationError: There is none, or a catalog is asked without a `db_id`.
    """
    if isinstance(source, Database):
        return source
    if isinstance(source, DatabaseCatalog):
        if db_id is None:
            raise ConfigurationError("A DatabaseCatalog needs a `db_id` with every item, but got None.")
        return source.get(db_id)
    raise ConfigurationError(
        "There is no database to run the SQL on: pass database= to the metric or to ascore(), "
        "or give results as a Table."
    )


def as_table(value: Any) -> Table | None:
    """Turn a result that is given instead of a query into a table.

    Args:
        value: A `Table`, a pandas DataFrame, or something else.

    Returns:
        The table, or `None` if the value is neither. Missing values of a DataFrame (NaN, NaT, NA) become NULL.
    """
    if isinstance(value, Table):
        return value
    if not (hasattr(value, "columns") and hasattr(value, "itertuples") and hasattr(value, "isna")):
        return None
    columns = []
    for position in range(len(value.columns)):
        series = value.iloc[:, position]
        missing = series.isna().tolist()
        columns.append([None if gone else cell for cell, gone in zip(series.tolist(), missing, strict=True)])
    rows = list(zip(*columns, strict=True)) if columns else []
    return Table([str(name) for name in value.columns], rows)
