"""Any other engine, through SQLAlchemy: one query a transaction that is always rolled back.

What stops what: the text's tokens are checked to be one query, and the rollback undoes what slips through. How far an
engine itself keeps a query from writing or running on is the driver's business, so connect as a user that may only
SELECT.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from sqlmetrics.databases.base import Database, QueryLimits, QueryResult, collect_rows, timed_out
from sqlmetrics.databases.deadline import Cancellation, Deadline
from sqlmetrics.databases.servers import in_time, without_password
from sqlmetrics.errors import (
    ConfigurationError,
    DatabaseError,
    MissingDependencyError,
    QueryError,
    QueryRejectedError,
)
from sqlmetrics.sql.statements import query_rejection
from sqlmetrics.tables.table import Row, Table

try:
    import sqlalchemy
    from sqlalchemy import exc
except ImportError as error:
    raise MissingDependencyError("sqlalchemy", "sqlalchemy", "A database behind a SQLAlchemy URL") from error

__all__ = ["SQLAlchemyDatabase"]

NUL = "The text holds a NUL character, which would hide what follows."

SAME_NAME = (
    *("bigquery", "clickhouse", "databricks", "doris", "drill", "druid", "duckdb", "hive", "mysql", "oracle", "presto"),
    *("redshift", "risingwave", "snowflake", "spark", "sqlite", "starrocks", "trino"),
)
DIALECTS: Mapping[str, str] = {
    **dict(zip(SAME_NAME, SAME_NAME, strict=True)),
    "awsathena": "athena",
    "cockroachdb": "postgres",
    "mariadb": "mysql",
    "mssql": "tsql",
    "postgresql": "postgres",
    "teradatasql": "teradata",
}
"""From SQLAlchemy's names to sqlglot's; other engines are read as standard SQL."""


class SQLAlchemyDatabase(Database):
    """A database behind a SQLAlchemy URL.

    Args:
        target: A SQLAlchemy URL, such as `mssql+pyodbc://...`; its driver must be installed.
        limits: What one query may cost. No driver bounds single values, so `max_cell_bytes` is not used.

    Raises:
        ConfigurationError: The target is no SQLAlchemy URL.

    Examples:
        >>> database = SQLAlchemyDatabase("sqlite+pysqlite://")
        >>> database.dialect, database.run("SELECT 1 AS n").table.rows
        ('sqlite', [(1,)])
        >>> database.close()
    """

    def __init__(self, target: str, limits: QueryLimits | None = None) -> None:
        """Keep the configuration; the first query connects."""
        super().__init__(target, limits or QueryLimits())
        self._reset()

    def _reset(self) -> None:
        self._engine: sqlalchemy.Engine | None = None
        self._engine_lock = threading.Lock()
        self._pid = os.getpid()
        try:
            self._url = sqlalchemy.make_url(self.target)
        except exc.ArgumentError:
            raise ConfigurationError(
                "Expected a SQLAlchemy URL like dialect+driver://user:password@host/database, with special characters "
                "of the password quoted (%40 for @)."
            ) from None
        self.dialect = DIALECTS.get(self._url.get_backend_name(), "")

    @property
    def label(self) -> str:
        """The URL without its password."""
        return without_password(self.target)

    def check(self) -> None:
        """Connect once.

        Raises:
            ConfigurationError: The target cannot be connected to.
            MissingDependencyError: The URL's driver is not installed.
        """
        self._connect().close()

    def close(self) -> None:
        """Close idle connections."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.dispose()

    def run(
        self, sql: str, *, limits: QueryLimits | None = None, cancellation: Cancellation | None = None
    ) -> QueryResult:
        """Run one read-only query; see `Database.run`.

        Raises:
            QueryError: Of the kind that `Database.run` describes.
            DatabaseError: The connection was lost.
            ConfigurationError: The target cannot be connected to.
        """
        rejection = NUL if "\0" in sql else query_rejection(sql, self.dialect)
        if rejection:
            raise QueryRejectedError(rejection)
        limits = limits or self.limits
        connection = self._connect()
        started = time.perf_counter()
        deadline = Deadline(limits.timeout_s, _stop_function(connection), cancellation, blocking=True)
        try:
            with deadline:
                result = _fetch(connection, sql, limits, started)
            return in_time(result, limits, deadline, started, cancellation)
        except exc.SQLAlchemyError as error:
            if deadline.expired or time.perf_counter() - started >= limits.timeout_s:
                raise timed_out(limits, started, cancellation) from error
            raise _translated(error) from error
        finally:
            _give_back(connection, broken=deadline.expired)

    def _open_engine(self) -> sqlalchemy.Engine:
        """Create the engine if this is the first query of this process."""
        with self._engine_lock:
            if self._engine is not None and self._pid != os.getpid():
                self._engine.dispose(close=False)  # the connections belong to the parent, which goes on using them
                self._pid = os.getpid()
            if self._engine is None:
                self._engine = sqlalchemy.create_engine(self._url)
            return self._engine

    def _connect(self) -> sqlalchemy.Connection:
        """Take a connection from the engine's pool; create the engine first if this is the first query."""
        try:
            return self._open_engine().connect()
        except ModuleNotFoundError as error:
            raise MissingDependencyError(str(error.name), "sqlalchemy", f"A {self._url.drivername} database") from error
        except exc.NoSuchModuleError:
            raise ConfigurationError(
                f"SQLAlchemy knows no dialect {self._url.drivername!r}; install the package that brings it."
            ) from None
        except exc.SQLAlchemyError as error:
            reason = _reason(error).replace(str(self._url.password or "\0"), "***")
        raise ConfigurationError(
            f"Cannot connect to database {self._url.database!r} at {self._url.host}:{self._url.port} ({self.label}): "
            f"{reason}. Check that it exists and that host, port, user and password are right."
        )


def _stop_function(connection: sqlalchemy.Connection) -> Callable[[], None]:
    """How to stop what runs on this connection: the driver's own way, or else by closing the connection."""
    driver: Any = connection.connection.driver_connection
    stop = getattr(driver, "interrupt", None) or getattr(driver, "cancel", None) or driver.close
    harmless = (_driver_error(connection), OSError)

    def stop_query() -> None:
        with contextlib.suppress(*harmless):  # the query has ended meanwhile, or is asked again in a moment
            stop()

    return stop_query


def _driver_error(connection: sqlalchemy.Connection) -> type[Exception]:
    """The driver's base exception."""
    module: Any = connection.dialect.dbapi
    error: type[Exception] = module.Error
    return error


def _fetch(connection: sqlalchemy.Connection, sql: str, limits: QueryLimits, started: float) -> QueryResult:
    """Execute without any treatment of parameters, and fetch within the caps."""
    options = connection.execution_options(no_parameters=True, stream_results=True)
    try:
        result = options.exec_driver_sql(sql)
    except UnicodeEncodeError as error:
        raise QueryError(f"The text is not valid Unicode: {error.reason}.") from error
    with contextlib.closing(result):

        def fetch(count: int) -> list[Row]:
            return [tuple(row) for row in result.fetchmany(count)]

        rows, truncated = collect_rows(fetch, limits)
        columns = tuple(result.keys())
    return QueryResult(Table.trusted(columns, rows), elapsed_s=time.perf_counter() - started, truncated=truncated)


def _give_back(connection: sqlalchemy.Connection, *, broken: bool) -> None:
    """Undo whatever the query did, and return the connection to the pool unless it may be broken."""
    try:
        if broken:
            connection.invalidate()
        else:
            connection.rollback()
    except exc.SQLAlchemyError:
        connection.invalidate()
    finally:
        connection.close()


def _reason(error: exc.SQLAlchemyError) -> str:
    """The driver's own words, without the statement and the link that SQLAlchemy adds."""
    return str(error.orig) if isinstance(error, exc.DBAPIError) else str(error)


def _translated(error: exc.SQLAlchemyError) -> DatabaseError:
    """Turn an error into ours; drivers' codes differ, so only a lost connection is told apart."""
    if isinstance(error, exc.DBAPIError) and error.connection_invalidated:
        return DatabaseError(f"The connection was lost: {_reason(error)}")
    return QueryError(_reason(error))
