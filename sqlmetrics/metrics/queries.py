"""From what a caller passes (SQL, a table, a DataFrame) to a result table, each distinct query run once a batch."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple

from sqlmetrics.databases.base import Database, QueryResult
from sqlmetrics.databases.catalog import DatabaseCatalog
from sqlmetrics.databases.connect import connect
from sqlmetrics.databases.deadline import Cancellation
from sqlmetrics.errors import ConfigurationError, DatabaseError
from sqlmetrics.tables.table import Table

__all__ = ["DatabaseSource", "Outcome", "QuerySession", "as_database_source", "as_table", "find_database"]

DatabaseSource = Database | DatabaseCatalog | None
KEPT_CELLS = 2_000_000
KEPT_RESULTS = 20_000


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
    outcomes used longest ago are forgotten first.
    """

    def __init__(self) -> None:
        """Start with nothing remembered."""
        self._outcomes: OrderedDict[tuple[int, str, float], Future[Outcome]] = OrderedDict()
        self._databases: dict[int, Database] = {}
        self._cells = 0
        self._lock = threading.Lock()

    def run(
        self, database: Database, sql: str, *, timeout_s: float | None = None, cancellation: Cancellation | None = None
    ) -> Outcome:
        """Run a query, or return what it gave before.

        Args:
            database: Where to run it.
            sql: The query.
            timeout_s: A deadline instead of the database's own.
            cancellation: Lets the caller stop it.

        Returns:
            Its result, or the error that it ended with.

        Raises:
            ConfigurationError: The database cannot be opened.
        """
        key = (id(database), sql, timeout_s or 0.0)
        with self._lock:
            self._databases[key[0]] = database  # keeps the id from being used again
            future = self._outcomes.get(key)
            mine = future is None
            if future is None:
                future = self._outcomes[key] = Future()
            else:
                self._outcomes.move_to_end(key)
        if mine:
            self._fill(key, future, cancellation)
        return future.result()

    def _fill(
        self, key: tuple[int, str, float], future: Future[Outcome], cancellation: Cancellation | None
    ) -> None:
        """Run the query of a fresh entry."""
        try:
            outcome = _run(self._databases[key[0]], key[1], key[2], cancellation)
        except BaseException as error:
            future.set_exception(error)
            with self._lock:
                self._outcomes.pop(key, None)
            raise
        future.set_result(outcome)
        with self._lock:
            self._cells += outcome.cell_count
            while self._cells > KEPT_CELLS or len(self._outcomes) > KEPT_RESULTS:
                oldest = next(iter(self._outcomes))
                if not self._outcomes[oldest].done():
                    self._outcomes.move_to_end(oldest)
                    break
                self._cells -= self._outcomes.pop(oldest).result().cell_count


def _run(database: Database, sql: str, timeout_s: float, cancellation: Cancellation | None) -> Outcome:
    """Run one query and turn its error into data."""
    limits = database.with_limits(timeout_s=timeout_s).limits if timeout_s else None
    try:
        return Outcome(database.run(sql, limits=limits, cancellation=cancellation))
    except DatabaseError as error:
        return Outcome(None, error)


def as_database_source(database: Any) -> DatabaseSource:  # noqa: ANN401
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
        "There is no database to run the SQL on: pass database= to the metric or to ascore(), or give results as a Table."
    )


def as_table(value: Any) -> Table | None:  # noqa: ANN401
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
