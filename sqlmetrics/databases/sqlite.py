"""SQLite, hardened: one read-only statement a call, nothing written, nothing attached, nothing leaked.

What stops what: `mode=ro` and `query_only` stop writes to the file; ATTACHED=0 and the authorizer stop ATTACH, VACUUM
INTO, PRAGMA, transactions and dangerous functions; the length limits stop single huge values; the deadline interrupts.

What nothing here stops: SQLite looks for an interrupt between rows, not within one. One call over two long texts
(`instr`, `replace`) or hundreds of large values in one row outlast the deadline; `IsolatedDatabase` ends those.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from sqlmetrics.databases.base import Database, QueryLimits, QueryResult, collect_rows, timed_out
from sqlmetrics.databases.deadline import Cancellation, Deadline
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

PRAGMAS = ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON")
LENGTH_LIMITS = {
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 1_000_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_COLUMN: 2_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 1_000,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 500,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 5_000,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 999,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
ALLOWED_ACTIONS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})
DENIED_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"})
INTERNAL_PRAGMAS = frozenset({"data_version", "page_size"})
"""What full-text tables ask for themselves while they are read."""

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
SHORTEST_LIMIT = 10_000
STAR = re.compile(r"(?<!\()\*(?!\))")
FEW_COLUMNS = 20
PRINTF_TOO_LONG = "string or blob too big"
PRINTF_MARK = re.compile(r"%([-+ #!,l.*0-9]*)")
LEADING_NUMBER = re.compile(r"\s*[+-]?(\d+)")
UNDECODABLE = re.compile("[\udc80-\udcff]")


class _FileState(NamedTuple):
    """What a database file looked like when a connection to it was opened."""

    device: int
    inode: int
    size: int
    modified_ns: int
    has_wal: bool


class _Connection(sqlite3.Connection):
    """A connection with a private one for its printf, which is closed with it."""

    private: sqlite3.Connection | None = None

    def close(self) -> None:
        """Close both."""
        super().close()
        if self.private is not None:
            self.private.close()


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
        self._idle: list[tuple[_Connection, _FileState]] = []
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

    def _acquire(self) -> tuple[_Connection, _FileState]:
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

    def _release(self, connection: _Connection, state: _FileState) -> None:
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

    def _open(self, state: _FileState) -> _Connection:
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
                factory=_Connection,
            )
            try:
                _harden(connection, self.limits)
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


def _harden(connection: _Connection, limits: QueryLimits) -> None:
    """Lock a fresh connection down and make sure that it is a database."""
    virtual = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL %'"
    for (name,) in connection.execute(virtual).fetchall():
        # Full-text and R*Tree tables prepare writes when they are first touched; do that before those are denied.
        with contextlib.suppress(sqlite3.Error):  # a module that is not built in: the query itself will say so
            connection.execute('SELECT * FROM "{}" LIMIT 0'.format(name.replace('"', '""')))  # noqa: S608 - quoted
    with contextlib.suppress(sqlite3.Error):  # built without JSON
        connection.execute("SELECT 1 FROM json_each('[]'), json_tree('[]')")  # these too prepare when first touched
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
    for category, limit in LENGTH_LIMITS.items():
        connection.setlimit(category, limit)
    longest = min(limits.max_cell_bytes, limits.max_bytes)
    connection.private = sqlite3.connect(":memory:", check_same_thread=False)
    connection.private.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
    guarded_printf = _guarded_printf(connection.private, longest)
    for name in ("printf", "format"):
        connection.create_function(name, -1, guarded_printf, deterministic=True)
    connection.set_authorizer(_authorize)


def _guarded_printf(private: sqlite3.Connection, longest: int) -> Callable[..., Any]:
    """SQLite's own printf, on a private connection, behind a check of widths, which it fills without any limit."""

    def printf(*arguments: object) -> object:
        if arguments and _filled_by_printf(str(arguments[0]), arguments[1:]) > longest:
            raise OverflowError(PRINTF_TOO_LONG)
        marks = ", ".join("?" * len(arguments))
        return private.execute(f"SELECT printf({marks})", arguments).fetchone()[0]

    return printf


def _filled_by_printf(pattern: str, arguments: tuple[object, ...]) -> float:
    """How many characters the widths and precisions of a pattern may fill, `*` being the largest argument."""
    marks = PRINTF_MARK.findall(pattern)
    fixed = sum(int(digits) for mark in marks for digits in re.findall(r"\d+", mark))
    stars = sum(mark.count("*") for mark in marks)
    return fixed + stars * max(map(_as_width, arguments), default=0) if stars else fixed


def _as_width(argument: object) -> float:
    """The width that SQLite would read from an argument: texts and blobs count by the number they begin with."""
    if isinstance(argument, int | float):
        return abs(argument)
    text = argument.decode("latin-1") if isinstance(argument, bytes) else str(argument)
    match = LEADING_NUMBER.match(text)
    return int(match[1]) if match else 0


def _authorize(action: int, first: str | None, second: str | None, schema: str | None, source: str | None) -> int:  # noqa: ARG001
    """Allow reading and harmless functions, nothing else; SQLite calls this while it compiles a statement."""
    if action in ALLOWED_ACTIONS:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_DENY if (second or "").lower() in DENIED_FUNCTIONS else sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and first in INTERNAL_PRAGMAS and second is None:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


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


def longest_value(sql: str, limits: QueryLimits) -> int:
    """How many bytes one text or blob may have in this query.

    A row of as many columns as the text can name fits into half of `max_bytes` (SQLite and Python hold it once), and
    a search of one such value in another, which SQLite does not interrupt, ends within a second.

    Examples:
        >>> limits = QueryLimits()
        >>> longest_value("SELECT a, b FROM t", limits), longest_value("SELECT instr(a, b) FROM t", limits)
        (1000000, 250000)
    """
    longest = min(limits.max_cell_bytes, limits.max_bytes)
    columns = sql.count(",") + 1
    if columns > FEW_COLUMNS and STAR.search(sql):  # every star may stand for as many columns as a subquery names
        columns = (columns // 2 + 1) ** 2
    columns = min(columns, LENGTH_LIMITS[sqlite3.SQLITE_LIMIT_COLUMN])
    longest = min(longest, max(SHORTEST_LIMIT, limits.max_bytes // 2 // columns))
    lowered = sql.lower()
    if "instr" in lowered or "replace" in lowered:
        return min(longest, max(SHORTEST_LIMIT, limits.max_cell_bytes // 4))
    return longest


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
