"""PostgreSQL: one statement a call, in a read-only transaction that is always rolled back.

What stops what: DECLARE takes nothing but one query, and the extended protocol takes one command, so a text cannot
leave the transaction; READ ONLY stops writes to tables and sequences; ROLLBACK and DISCARD ALL undo settings, locks and
large objects; statement_timeout and the deadline stop what runs too long; the role decides on files and programs, so
roles that may touch those are refused.
"""

from __future__ import annotations

import math
import os
import re
import socket
import threading
import time
from typing import Any, NamedTuple

from sqlmetrics.databases.base import Database, QueryLimits, QueryResult, collect_rows, timed_out
from sqlmetrics.databases.deadline import Cancellation, Deadline
from sqlmetrics.databases.servers import address, in_time, without_password
from sqlmetrics.errors import (
    ConfigurationError,
    DatabaseError,
    MissingDependencyError,
    QueryError,
    QueryRejectedError,
    ResultTooLargeError,
)
from sqlmetrics.sql.statements import query_rejection
from sqlmetrics.tables.table import Table

try:
    import psycopg
    from psycopg.abc import AdaptContext, Buffer
    from psycopg.adapt import Loader
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.pq import Format, TransactionStatus
except ImportError as error:
    raise MissingDependencyError("psycopg", "postgres", "A PostgreSQL database") from error

__all__ = ["PostgresDatabase"]

IDLE_CONNECTIONS = 8
CONNECT_TIMEOUT_S = 10
CANCEL_TIMEOUT_S = 0.5
HANG_UP_AFTER_S = 0.4
"""How long the server may go on after the first cancel request before the connection is cut."""

BEGIN = (
    "BEGIN READ ONLY; SET LOCAL statement_timeout = {0}; SET LOCAL lock_timeout = {0}; "
    "SET LOCAL cursor_tuple_fraction = 1"
)
LOWER_ROLE = "; SET LOCAL ROLE pg_read_all_data"

PRIVILEGES = """
    SELECT r.rolsuper, ARRAY(
        SELECT m.rolname::text FROM pg_catalog.pg_roles m
        WHERE m.rolname ~ '^pg_(read_server_files|write_server_files|execute_server_program|read_all_data)$'
        AND pg_catalog.pg_has_role(m.oid, 'MEMBER'))
    FROM pg_catalog.pg_roles r WHERE r.rolname = current_user
"""

DISTURBING = re.compile(r"pg_(?:terminate|cancel)_backend|pg_log_backend_memory_contexts", re.IGNORECASE)
"""Functions by which any role can stop its own other queries; sought in the whole text, so no quoting hides them."""

ESCAPING = re.compile(
    r"set_config|query_to_xml|ts_stat|ts_rewrite|dblink|crosstab|connectby|xpath_table|\bu&\"", re.IGNORECASE
)
"""What could take the superuser's role back: setting the role, and functions that run a text as a query."""

CONNECT_REASON = re.compile(
    r"FATAL: +(.+)|(Connection refused|timeout expired|failed to resolve host|No such file or directory"
    r"|Network is unreachable|No route to host|certificate verify failed|server does not support SSL"
    r"|no password supplied|invalid port|invalid integer)"
)
DRIVER_SUFFIX = re.compile(r"(?<=^postgresql)\+\w+(?=://)")
"""SQLAlchemy's way of naming a driver, which libpq does not know."""

BUSY = re.compile(r"too many|connection slots|starting up|shutting down|recovery", re.IGNORECASE)
OUT_OF_MEMORY = re.compile(r"out of memory|invalid memory alloc", re.IGNORECASE)

TIMEOUT_STATES = frozenset({"57014"})
REJECTED_STATES = frozenset({"25006", "42501"})
TOO_LARGE_STATES = frozenset({"53200", "54000"})
DATABASE_STATES = frozenset({"57P01", "57P02", "57P03", "53300"})
CONNECTION_CLASS = "08"
MISSING_PARAMETERS = "08P01"
"""Also the state of a query that holds `$1`."""

FRAGILE_TYPES = ("date", "timestamp", "timestamptz", "time", "timetz", "interval", "json", "jsonb")
"""Types with values that Python cannot hold: infinite and ancient dates, deep JSON, JSON numbers of 5000 digits."""

LOAD_ERRORS = (psycopg.DataError, ValueError, OverflowError, RecursionError)


class _Session(NamedTuple):
    """A connection and whether its role has to be lowered in every transaction."""

    connection: psycopg.Connection[tuple[Any, ...]]
    lower_role: bool


class PostgresDatabase(Database):
    """A PostgreSQL database.

    Values that Python cannot hold (`'infinity'::date`, dates before the year 1) come back as text.

    Args:
        target: A `postgresql://` URL.
        limits: What one query may cost. The server cannot bound single values, so `max_cell_bytes` is not used.
        allow_superuser: Whether the role may be one that can touch the server's files or run programs there. Queries of
            a superuser run as `pg_read_all_data` where that role exists.
    """

    dialect = "postgres"

    def __init__(self, target: str, limits: QueryLimits | None = None, *, allow_superuser: bool = False) -> None:
        """Keep the configuration; the first query connects."""
        super().__init__(target, limits or QueryLimits())
        self.allow_superuser = allow_superuser
        self._reset()

    def _reset(self) -> None:
        self._idle: list[_Session] = []
        self._idle_lock = threading.Lock()
        self._pid = os.getpid()

    @property
    def label(self) -> str:
        """The URL without its password."""
        return without_password(self.target)

    def check(self) -> None:
        """Connect once.

        Raises:
            ConfigurationError: The URL, host, user, password or database is wrong, or the role may do too much.
            DatabaseError: The server takes no connections just now.
        """
        self._release(self._begin(self.limits), reusable=True)

    def close(self) -> None:
        """Close idle connections."""
        with self._idle_lock:
            idle, self._idle = self._idle, []
        for session in idle:
            session.connection.close()

    def run(
        self, sql: str, *, limits: QueryLimits | None = None, cancellation: Cancellation | None = None
    ) -> QueryResult:
        """Run one read-only query; see `Database.run`.

        Raises:
            QueryError: Of the kind that `Database.run` describes.
            DatabaseError: The server is unreachable or shuts down.
            ConfigurationError: The target cannot be connected to, or the role may do too much.
        """
        rejection = _rejection(sql, self.allow_superuser)
        if rejection:
            raise QueryRejectedError(rejection)
        limits = limits or self.limits
        session = self._begin(limits)
        started = time.perf_counter()
        deadline = Deadline(limits.timeout_s, _Stop(session.connection), cancellation, blocking=True)
        reusable = False
        try:
            with deadline:
                result = _fetch(session.connection, sql, limits, started)
            reusable = not deadline.expired
            return in_time(result, limits, deadline, started, cancellation)
        except psycopg.Error as error:
            reusable = not deadline.expired
            if deadline.expired or time.perf_counter() - started >= limits.timeout_s or _is(error, TIMEOUT_STATES):
                raise timed_out(limits, started, cancellation) from error
            raise _translated(error) from error
        finally:
            self._release(session, reusable=reusable)

    def _begin(self, limits: QueryLimits) -> _Session:
        """Start a read-only transaction on an idle connection, or on a new one if there is none that lives."""
        timeout_ms = max(1, math.ceil(limits.timeout_s * 1000))
        begin = BEGIN.format(min(timeout_ms, 2**31 - 1))
        session, pooled = self._acquire()
        while True:
            try:
                session.connection.execute(begin + LOWER_ROLE * session.lower_role)
            except psycopg.Error as error:
                session.connection.close()
                if not pooled:
                    raise _translated(error) from error
                self.close()  # the server went away: the other idle connections are as dead as this one
                session, pooled = self._acquire()
            else:
                return session

    def _acquire(self) -> tuple[_Session, bool]:
        """Take an idle connection or open one; also say whether it was idle."""
        if self._pid != os.getpid():
            _inherited.extend(self._idle)
            self._reset()
        with self._idle_lock:
            if self._idle:
                return self._idle.pop(), True
        return self._open(), False

    def _release(self, session: _Session, *, reusable: bool) -> None:
        """Undo everything that a query may have left, and keep the connection for the next one."""
        connection = session.connection
        try:
            if reusable and connection.info.transaction_status != TransactionStatus.UNKNOWN:
                connection.execute("ROLLBACK")
                connection.execute("DISCARD ALL")
                with self._idle_lock:
                    if len(self._idle) < IDLE_CONNECTIONS:
                        self._idle.append(session)
                        return
        except psycopg.Error:
            pass  # a connection that cannot be cleaned is closed like one that is not reusable
        connection.close()

    def _open(self) -> _Session:
        """Connect and look at what the role may do.

        Raises:
            ConfigurationError: The target cannot be connected to, or the role may do too much.
            DatabaseError: The server takes no connections just now.
        """
        connection = self._connect()
        try:
            found = connection.execute(PRIVILEGES).fetchone()
        except psycopg.Error as error:
            connection.close()
            raise _translated(error) from error
        is_superuser, roles = found if found else (False, [])
        dangerous = "superuser" if is_superuser else next((name for name in roles if name != "pg_read_all_data"), None)
        if dangerous and not self.allow_superuser:
            connection.close()
            what = "is a superuser" if is_superuser else f"is a member of {dangerous}"
            raise ConfigurationError(
                f"The role of {self.label} {what}: a query could reach the server's files. Connect as a plain role "
                "that may only SELECT, or pass `connect(..., allow_superuser=True)` if the server may be harmed."
            )
        return _Session(connection, bool(dangerous) and "pg_read_all_data" in roles)

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        """Open a connection; psycopg's own words are not passed on, since they may hold parts of the URL."""
        try:
            given = conninfo_to_dict(DRIVER_SUFFIX.sub("", self.target))
        except psycopg.Error:
            raise ConfigurationError(
                f"{self.label} is not a PostgreSQL URL. Expected postgresql://user:password@host:5432/database, with "
                "special characters of the password quoted (%40 for @)."
            ) from None
        defaults = {"connect_timeout": CONNECT_TIMEOUT_S, "application_name": "sqlmetrics"}
        options: dict[str, Any] = {**defaults, **given, "client_encoding": "utf8"}
        try:
            return psycopg.connect(**options, autocommit=True, prepare_threshold=None)
        except psycopg.Error as error:
            found = CONNECT_REASON.search(str(error))
            reason = (found[1] or found[2]).strip() if found else "the connection failed"
        if BUSY.search(reason):
            raise DatabaseError(f"{self.label} takes no connections just now: {reason}.")
        raise ConfigurationError(
            f"Cannot connect to {address(self.label, 5432)}: {reason}. Check that the server runs and that host, port, "
            "user, password (special characters quoted, %40 for @) and database are right."
        )


_inherited: list[_Session] = []
"""Connections that a forked child got from its parent: the parent goes on using them, so they are never closed here."""


class _Stop:
    """Asks the server to cancel the running query; cuts the connection if that does not help soon."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._cut_at = 0.0

    def __call__(self) -> None:
        now = time.monotonic()
        self._cut_at = self._cut_at or now + HANG_UP_AFTER_S
        try:
            if now < self._cut_at:
                self._connection.cancel_safe(timeout=CANCEL_TIMEOUT_S)
            else:  # the server is deep in a function, or busy sending a huge value
                with socket.socket(fileno=os.dup(self._connection.fileno())) as wire:
                    wire.shutdown(socket.SHUT_RDWR)
        except (psycopg.Error, OSError):
            return  # asked again in a moment


class _Lenient(Loader):
    """Loads a value as its type's loader does, or as text where that fails."""

    def __init__(self, oid: int, context: AdaptContext | None = None) -> None:
        super().__init__(oid, context)
        found = psycopg.adapters.get_loader(oid, Format.TEXT)
        self._loader = found(oid, context) if found else None

    def load(self, data: Buffer) -> object:
        try:
            return self._loader.load(data) if self._loader else bytes(data).decode()
        except LOAD_ERRORS:
            return bytes(data).decode()


def _rejection(sql: str, allow_superuser: bool) -> str | None:
    """Say why a text is not run."""
    if "\0" in sql:
        return "The text holds a NUL character, which would hide what follows."
    rejection = query_rejection(sql, "postgres")
    if rejection:
        return rejection
    found = DISTURBING.search(sql) or (ESCAPING.search(sql) if allow_superuser else None)
    return (
        f"The query holds {found[0]}, which reaches beyond the query; only one read-only query is run."
        if found
        else None
    )


def _fetch(connection: psycopg.Connection[Any], sql: str, limits: QueryLimits, started: float) -> QueryResult:
    """Run the query, once more with lenient loaders if Python cannot hold one of its values."""
    try:
        return _fetch_once(connection, sql, limits, started, lenient=False)
    except UnicodeEncodeError as error:
        raise QueryError(f"The text is not valid Unicode: {error.reason}.") from error
    except LOAD_ERRORS as error:
        if getattr(error, "sqlstate", None):  # the server's error, not the driver's
            raise
    return _fetch_once(connection, sql, limits, started, lenient=True)


def _fetch_once(
    connection: psycopg.Connection[Any], sql: str, limits: QueryLimits, started: float, *, lenient: bool
) -> QueryResult:
    """Declare a cursor for the query and fetch within the caps."""
    with connection.cursor("sqlmetrics") as cursor:
        if lenient:
            for name in FRAGILE_TYPES:
                cursor.adapters.register_loader(name, _Lenient)
        cursor.execute(sql)
        described = cursor.description or []
        rows, truncated = collect_rows(cursor.fetchmany, limits)
        columns = tuple([column.name for column in described])
        types = tuple([column.type_display for column in described])
    return QueryResult(
        Table.trusted(columns, rows), elapsed_s=time.perf_counter() - started, truncated=truncated, types=types
    )


def _is(error: psycopg.Error, states: frozenset[str]) -> bool:
    """Whether the error has one of these states."""
    return error.sqlstate in states


def _translated(error: psycopg.Error) -> DatabaseError:
    """Turn a server's error into ours, by its state."""
    message = error.diag.message_primary or str(error)
    if _is(error, REJECTED_STATES):
        return QueryRejectedError(f"Only one read-only query is run; PostgreSQL says: {message}.")
    if _is(error, TOO_LARGE_STATES) or OUT_OF_MEMORY.search(message):
        return ResultTooLargeError(f"The query passes a limit of the engine; PostgreSQL says: {message}.")
    state = error.sqlstate or CONNECTION_CLASS
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and (
        state in DATABASE_STATES or (state.startswith(CONNECTION_CLASS) and state != MISSING_PARAMETERS)
    ):
        return DatabaseError(f"PostgreSQL says: {message}")
    return QueryError(message)
