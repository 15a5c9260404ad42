"""SQLite, hardened: one read-only statement a call, nothing written, nothing attached, nothing leaked.

What stops what: `mode=ro` and `query_only` stop writes to the file; ATTACHED=0 and the authorizer stop ATTACH, VACUUM
INTO, PRAGMA, transactions and dangerous functions; the length limits stop single huge values; the deadline interrupts.

What is not stopped: SQLite looks for an interrupt between the steps of a query, not within one call. The limits keep
such calls short unless `max_cell_bytes` is raised a lot; `IsolatedDatabase` ends those too.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import time
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from sqlmetrics.databases.base import Database, QueryLimits, QueryResult, collect_rows, timed_out
from sqlmetrics.databases.deadline import Cancellation, Deadline
from sqlmetrics.databases.sqlite_hardening import HardenedConnection, harden, longest_value
from sqlmetrics.errors import (
    ConfigurationError,
    DatabaseError,
    QueryError,
    QueryRejectedError,
    QueryTimeoutError,
    ResultTooLargeError,
)
from sqlmetrics.sql.statements import first_word_rejection
from sqlmetrics.tables.table import Table

__all__ = ["SQLiteDatabase"]

BUSY_TIMEOUT_S = 5.0
IDLE_CONNECTIONS = 8
WAL_VERSION_OFFSET = 18
WAL_VERSION = 2

DATABASE_FAULTS = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_PROTOCOL,
    }
)
PRIMARY_CODE = 0xFF
STATE_GOOD_FOR_S = 0.002
UNDECODABLE = re.compile("[\udc80-\udcff]")


class _FileState(NamedTuple):
    """What a database file looked like when a connection to it was opened."""

    device: int
    inode: int
    size: int
    modified_ns: int
    has_wal: bool


class SQLiteDatabase(Database):
    """A SQLite file.

    Args:
        target: The path of the file.
        limits: What one query may cost.

    Examples:
        >>> import sqlite3, tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "shop.sqlite"
        >>> with sqlite3.connect(path) as connection:
        ...     _ = connection.executescript("CREATE TABLE t(x); INSERT INTO t VALUES (1), (2)")
        >>> database = SQLiteDatabase(str(path))
        >>> database.run("SELECT x FROM t").table.rows
        [(1,), (2,)]
        >>> database.run("DELETE FROM t")
        Traceback (most recent call last):
        ...
        sqlmetrics.errors.QueryRejectedError: DELETE is not a query; only one read-only query is run.
        >>> database.close(); connection.close()
    """

    dialect = "sqlite"
    folds_case = True
    in_process = True

    def __init__(self, target: str, limits: QueryLimits | None = None) -> None:
        """Keep the path; the file is opened by the first query."""
        super().__init__(os.path.abspath(target), limits or QueryLimits())  # noqa: PTH100 - keeps links as given
        self._reset()

    def _reset(self) -> None:
        self._state: _FileState
        self._idle: list[tuple[HardenedConnection, _FileState]] = []
        self._idle_lock = threading.Lock()
        self._pid = os.getpid()
        self._state_until = 0.0

    def check(self) -> None:
        """Open the file once.

        Raises:
            ConfigurationError: It is missing, a directory, unreadable or no SQLite database.
        """
        connection, state = self._acquire()
        self._release(connection, state)

    def close(self) -> None:
        """Close idle connections."""
        with self._idle_lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()

    def run(
        self, sql: str, *, limits: QueryLimits | None = None, cancellation: Cancellation | None = None
    ) -> QueryResult:
        """Run one read-only query; see `Database.run`.

        Raises:
            QueryError: Of the kind that `Database.run` describes.
            DatabaseError: The file is locked or damaged.
            ConfigurationError: The file cannot be opened.
        """
        rejection = first_word_rejection(sql)
        if rejection:
            raise QueryRejectedError(rejection)
        limits = limits or self.limits
        connection, state = self._acquire()
        started = time.perf_counter()
        try:
            with Deadline(limits.timeout_s, connection.interrupt, cancellation) as deadline:
                result = _run_on(connection, sql, limits, deadline, started)
        except QueryTimeoutError:
            raise timed_out(limits, started, cancellation) from None
        finally:
            self._release(connection, state)
        if result is None:
            raise QueryError("The text holds no statement.")
        return result

    def _acquire(self) -> tuple[HardenedConnection, _FileState]:
        """Take an idle connection, or open one if there is none or the file has changed."""
        state = self._file_state()
        if self._pid != os.getpid():
            self._reset()
        while True:
            with self._idle_lock:
                if not self._idle:
                    break
                connection, opened = self._idle.pop()
            if opened == state:
                return connection, state
            connection.close()
        return self._open(state), state

    def _release(self, connection: HardenedConnection, state: _FileState) -> None:
        """Put a connection back for the next query."""
        with self._idle_lock:
            if len(self._idle) < IDLE_CONNECTIONS:
                self._idle.append((connection, state))
                return
        connection.close()

    def _file_state(self) -> _FileState:
        """Look at the file, which must exist; a look that is only just past is good enough."""
        now = time.monotonic()
        if now < self._state_until:
            return self._state
        try:
            found = os.stat(self.target)  # noqa: PTH116 - called for every query
        except OSError as error:
            hint = "an in-memory database cannot be shared; write it to a file" if ":memory:" in self.target else ""
            raise ConfigurationError(
                f"There is no SQLite file at {self.target!r} ({error.strerror}); {hint or 'check the path'}. "
                "Nothing was created."
            ) from error
        has_wal = os.access(self.target + "-wal", os.F_OK)
        self._state = _FileState(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, has_wal)
        self._state_until = now + STATE_GOOD_FOR_S
        return self._state

    def _open(self, state: _FileState) -> HardenedConnection:
        """Open a hardened connection.

        Raises:
            ConfigurationError: The file cannot be opened or is no SQLite database.
        """
        if Path(self.target).is_dir():
            raise ConfigurationError(f"{self.target!r} is a directory; give the path of a SQLite file in it.")
        # A file in WAL mode without its -wal file would get one just by being read, unless opened as immutable.
        immutable = "&immutable=1" if not state.has_wal and _is_wal_file(self.target, state) else ""
        try:
            connection = sqlite3.connect(
                f"file:{quote(self.target)}?mode=ro{immutable}",
                uri=True,
                timeout=min(BUSY_TIMEOUT_S, self.limits.timeout_s),
                isolation_level=None,
                check_same_thread=False,
                factory=HardenedConnection,
            )
            try:
                harden(connection, self.limits)
            except sqlite3.Error:
                connection.close()
                raise
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & PRIMARY_CODE in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise DatabaseError(f"{self.target!r} is locked by another process: {error}") from error
            raise ConfigurationError(f"{self.target!r} cannot be read as a SQLite database: {error}") from error
        return connection


@lru_cache(maxsize=1024)  # closing a file drops all locks that this process holds on it: look once, not per connection
def _is_wal_file(target: str, _: _FileState) -> bool:
    """Whether the header of a file in this state says that it uses a write-ahead log."""
    try:
        with open(target, "rb") as file:  # noqa: PTH123
            file.seek(WAL_VERSION_OFFSET)
            return WAL_VERSION in file.read(2)
    except OSError as error:
        raise ConfigurationError(f"{target!r} cannot be read: {error.strerror}.") from error


def _run_on(
    connection: sqlite3.Connection, sql: str, limits: QueryLimits, deadline: Deadline, started: float
) -> QueryResult | None:
    """Run the statement, once more with undecodable bytes kept if the driver meets some."""
    try:
        return _fetch(connection, sql, limits, started)
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, MemoryError) as error:
        if "Could not decode" not in str(error):
            raise _translated(error, deadline) from error
    connection.text_factory = _decode
    try:
        result = _fetch(connection, sql, limits, started)
    except (sqlite3.Error, sqlite3.Warning, MemoryError) as error:
        raise _translated(error, deadline) from error
    finally:
        connection.text_factory = str
    if result is not None:
        result.undecodable = any(
            isinstance(value, str) and UNDECODABLE.search(value) for row in result.table.rows for value in row
        )
    return result


def _decode(data: bytes) -> str:
    """Keep bytes that are no UTF-8 as surrogates."""
    return data.decode("utf-8", "surrogateescape")


def _fetch(connection: sqlite3.Connection, sql: str, limits: QueryLimits, started: float) -> QueryResult | None:
    """Execute and fetch within the caps; `None` if the text held no statement that returns rows."""
    longest = longest_value(sql, limits)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
    cursor = connection.execute(sql)
    try:
        if cursor.description is None:
            return None
        columns = tuple([column[0] for column in cursor.description])
        rows, truncated = collect_rows(cursor.fetchmany, limits, longest * len(columns))
    finally:
        cursor.close()
    return QueryResult(Table.trusted(columns, rows), elapsed_s=time.perf_counter() - started, truncated=truncated)


def _translated(error: Exception, deadline: Deadline) -> DatabaseError:
    """Turn a driver's error into ours, by SQLite's result code."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & PRIMARY_CODE if isinstance(code, int) else None
    if deadline.expired or primary == sqlite3.SQLITE_INTERRUPT:
        return QueryTimeoutError(str(error))
    denied = "not authorized" in str(error) or "prohibited" in str(error)  # at run time the code is a plain error
    if denied or primary in (sqlite3.SQLITE_AUTH, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return QueryRejectedError(f"Only one read-only query is run; SQLite says: {error}.")
    if isinstance(error, sqlite3.Warning | sqlite3.ProgrammingError) and "one statement" in str(error):
        return QueryRejectedError("The text holds more than one statement; only one read-only query is run.")
    too_large = primary == sqlite3.SQLITE_TOOBIG or isinstance(error, sqlite3.DataError | MemoryError)
    if too_large or "user-defined function raised" in str(error):  # the only such function is the guarded printf
        return ResultTooLargeError(f"A value passes max_cell_bytes or the engine's memory; SQLite says: {error}.")
    if primary in DATABASE_FAULTS:
        return DatabaseError(f"SQLite says: {error}")
    return QueryError(str(error))
