"""DuckDB, hardened: one SELECT a call on a file attached read-only, with files, settings and extensions locked.

What stops what: the attached file is read-only; `enable_external_access` off stops COPY, ATTACH and every function
that reads files; replacements off hides the caller's variables; the locked configuration stops SET; the statement's
type stops the rest (temporary tables, PRAGMA, transactions); the deadline interrupts.

What nothing here stops is one call that builds a huge value (`repeat('x', 2000000000)`, `range(500000000)`): DuckDB
counts such memory late and cannot be interrupted inside it. It also builds 2048 rows at a time, however large. Only
a process of its own with a memory limit holds that: use `IsolatedDatabase` (isolation="process") for text from
strangers.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from sqlmetrics.databases.base import Database, QueryLimits, QueryResult, collect_rows, read_json, timed_out
from sqlmetrics.databases.deadline import Cancellation, Deadline
from sqlmetrics.errors import (
    ConfigurationError,
    DatabaseError,
    MissingDependencyError,
    QueryError,
    QueryRejectedError,
    QueryTimeoutError,
    ResultTooLargeError,
)
from sqlmetrics.sql.statements import first_word_rejection, tokens
from sqlmetrics.tables.table import Table

try:
    import duckdb
except ImportError as missing:
    raise MissingDependencyError("duckdb", "duckdb", "A DuckDB file") from missing

__all__ = ["DuckDBDatabase"]

OPEN_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "memory_limit": "400MB",
    "threads": 1,
    "temp_directory": "",
    "max_temp_directory_size": "0KB",
}
LOCKS = ("SET enable_external_access = false", "SET lock_configuration = true")
"""What can only be set once the file is attached."""

TAKEN_NAMES = frozenset({"memory", "system", "temp"})
UNSAFE_FUNCTIONS = frozenset(
    {
        "checkpoint",
        "create_external_resource",
        "deregister_external_resource",
        "destroy_external_resource",
        "force_checkpoint",
        "json_execute_serialized_sql",
        "query",
        "register_external_resource",
        "register_external_resource_type",
        "truncate_duckdb_logs",
        "write_log",
    }
)
"""Functions that a SELECT may call although they change the instance, or run text that is not looked at."""

UNSAFE_WORDS = re.compile("|".join([*sorted(UNSAFE_FUNCTIONS), "copy"]), re.IGNORECASE)
REFUSALS = ("read-only", "configuration has been locked", "disabled by configuration", "disabled through configuration")


class _FileState(NamedTuple):
    """What a database file looked like when it was attached."""

    device: int
    inode: int
    size: int
    modified_ns: int
    wal: tuple[int, int] | None


@dataclass(slots=True)
class _Instance:
    """One DuckDB instance with one file attached; all databases on that file share it."""

    connection: duckdb.DuckDBPyConnection
    state: _FileState
    use: str
    running: int = 0
    retired: bool = False


class _Instances:
    """The open instances of this process, one for each file."""

    def __init__(self) -> None:
        """Start without any."""
        self._open: dict[str, _Instance] = {}
        self._abandoned: list[dict[str, _Instance]] = []
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def cursor(self, target: str) -> Iterator[duckdb.DuckDBPyConnection]:
        """Lend a fresh cursor on the file, which is attached anew if it has changed.

        Raises:
            ConfigurationError: The file cannot be opened.
        """
        state = _file_state(target)
        with self._lock:
            instance = self._open.get(target)
            if instance is None or instance.state != state:
                self._retire(target)
                instance = self._open[target] = _open(target, state)
            cursor = instance.connection.cursor()
            instance.running += 1
        try:
            cursor.execute(instance.use)
            yield cursor
        finally:
            cursor.close()
            with self._lock:
                instance.running -= 1
                if instance.retired and not instance.running:
                    instance.connection.close()

    def close(self, target: str) -> None:
        """Close the instance on a file as soon as no query runs on it."""
        with self._lock:
            self._retire(target)

    def abandon(self) -> None:
        """Start anew in a forked child: it cannot use its parent's instances.

        They are kept unclosed, because closing them could wait for threads that the child does not have.
        """
        self._abandoned.append(self._open)
        self._open = {}
        self._lock = threading.Lock()

    def _retire(self, target: str) -> None:
        """Forget an instance; its last query closes it, for closing it earlier would close that query's cursor."""
        instance = self._open.pop(target, None)
        if instance is not None:
            instance.retired = True
            if not instance.running:
                instance.connection.close()


_instances = _Instances()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_instances.abandon)


class DuckDBDatabase(Database):
    """A DuckDB file.

    Memory is limited to 400 MB for each file and process, and nothing spills to disk. A single huge value can pass that
    (see this module's text); wrap the database in `IsolatedDatabase` where the texts are not trusted at all.

    Args:
        target: The path of the file.
        limits: What one query may cost. DuckDB cannot hold `max_cell_bytes`.

    Examples:
        >>> import duckdb, tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "shop.duckdb"
        >>> with duckdb.connect(path) as connection:
        ...     _ = connection.execute("CREATE TABLE t AS SELECT unnest([1, 2]) AS x")
        >>> database = DuckDBDatabase(str(path))
        >>> database.run("SELECT x FROM t").table.rows
        [(1,), (2,)]
        >>> database.run("COPY t TO 'copy.csv'")
        Traceback (most recent call last):
        ...
        sqlmetrics.errors.QueryRejectedError: COPY is not a query; only one read-only query is run.
        >>> database.close()
    """

    dialect = "duckdb"
    in_process = True

    def __init__(self, target: str, limits: QueryLimits | None = None) -> None:
        """Keep the path; the file is opened by the first query."""
        super().__init__(str(Path(target).absolute()), limits or QueryLimits())

    def check(self) -> None:
        """Open the file once.

        Raises:
            ConfigurationError: It is missing, a directory, unreadable, no DuckDB file, or open elsewhere for writing.
        """
        with _instances.cursor(self.target):
            pass

    def close(self) -> None:
        """Close the file unless queries still run on it; it then closes with the last of them."""
        _instances.close(self.target)

    def run(
        self, sql: str, *, limits: QueryLimits | None = None, cancellation: Cancellation | None = None
    ) -> QueryResult:
        """Run one read-only query; see `Database.run`.

        Raises:
            QueryError: Of the kind that `Database.run` describes.
            DatabaseError: The file cannot be read.
            ConfigurationError: The file cannot be opened.
        """
        rejection = first_word_rejection(sql)
        if rejection:
            raise QueryRejectedError(rejection)
        limits = limits or self.limits
        with _instances.cursor(self.target) as cursor:
            started = time.perf_counter()
            try:
                with Deadline(limits.timeout_s, cursor.interrupt, cancellation) as deadline:
                    return _run_on(cursor, sql, limits, deadline, started)
            except QueryTimeoutError:
                raise timed_out(limits, started, cancellation) from None
            except (duckdb.InternalException, duckdb.FatalException) as error:
                self.close()  # DuckDB refuses everything after such an error; the next query opens a new instance
                raise QueryError(str(error)) from error


def _file_state(target: str) -> _FileState:
    """Look at the file and at its log of writes.

    Raises:
        ConfigurationError: It is missing, a directory, or cannot be looked at.
    """
    try:
        found = Path(target).stat()
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"There is no DuckDB file at {target!r} ({getattr(error, 'strerror', None) or error}); check the path. "
            "Nothing was created."
        ) from error
    try:
        log = Path(target + ".wal").stat()
        wal = (log.st_size, log.st_mtime_ns)
    except OSError:
        wal = None
    return _FileState(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, wal)


def _open(target: str, state: _FileState) -> _Instance:
    """Attach the file to a fresh in-memory instance and lock that down.

    An instance of its own does not clash with a connection of the caller's that reads the same file with other
    settings, and is not shared with a stale one once the file was replaced.

    Raises:
        ConfigurationError: The file cannot be opened.
    """
    path = Path(target)
    if path.is_dir():
        raise ConfigurationError(f"{target!r} is a directory; give the path of a DuckDB file in it.")
    name = path.name.split(".")[0] or path.name
    quoted = '"{}"'.format((name + "_db" if name.lower() in TAKEN_NAMES else name).replace('"', '""'))
    connection = duckdb.connect(":memory:", config=OPEN_CONFIG)
    try:
        connection.execute("ATTACH '{}' AS {} (READ_ONLY, TYPE duckdb)".format(target.replace("'", "''"), quoted))
        for lock in LOCKS:
            connection.execute(lock)
    except duckdb.Error as error:
        connection.close()
        raise _open_error(target, error) from error
    return _Instance(connection, state, f"USE {quoted}")


def _open_error(target: str, error: duckdb.Error) -> ConfigurationError:
    """Say why a file cannot be opened and what to do."""
    message = str(error).splitlines()[0]
    if "Could not set lock" in message:
        what = "Another process holds it open for writing: close it there, or copy the file"
    elif "already attached" in message or isinstance(error, duckdb.ConnectionException):
        what = "This process holds it open for writing: close that connection, or open it with read_only=True"
    elif "not a valid DuckDB" in message:
        what = "It is no DuckDB file: check the path"
    else:
        what = "Check that the file can be read and that this version of duckdb reads its format"
    return ConfigurationError(f"{target!r} cannot be opened. {what}. DuckDB says: {message}")


def _run_on(
    cursor: duckdb.DuckDBPyConnection, sql: str, limits: QueryLimits, deadline: Deadline, started: float
) -> QueryResult:
    """Run the statement if it is a single SELECT, and fetch within the caps."""
    try:
        cursor.execute(_single_select(cursor, sql))
        rows, truncated = collect_rows(cursor.fetchmany, limits)
        description = cursor.description or []
    except (duckdb.InternalException, duckdb.FatalException):
        raise
    except (duckdb.Error, MemoryError, RuntimeError, ValueError, OverflowError, ImportError) as error:
        raise _translated(error, deadline) from error
    elapsed_s = time.perf_counter() - started
    if elapsed_s >= limits.timeout_s:
        raise QueryTimeoutError("The query ended after its deadline.")
    rows = read_json(rows, [place for place, column in enumerate(description) if str(column[1]) == "JSON"])
    return QueryResult(
        Table.trusted(tuple([str(column[0]) for column in description]), rows),
        elapsed_s=elapsed_s,
        truncated=truncated,
        types=tuple([str(column[1]) for column in description]),
    )


def _single_select(cursor: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    """Parse the text.

    Raises:
        QueryError: It holds no statement, or characters that are no text.
        QueryRejectedError: It is not exactly one SELECT.
    """
    if not sql.isascii() and any("\ud800" <= character <= "\udfff" for character in sql):
        raise QueryError("The text holds a surrogate character, which is no valid Unicode text.")
    statements = cursor.extract_statements(sql)
    if not statements:
        raise QueryError("The text holds no statement.")
    if len(statements) > 1:
        raise QueryRejectedError("The text holds more than one statement; only one read-only query is run.")
    kind = statements[0].type
    if kind == duckdb.StatementType.MULTI:
        raise QueryRejectedError("This PIVOT creates a type before it reads; name its values with IN (...).")
    if kind != duckdb.StatementType.SELECT:
        raise QueryRejectedError(f"{kind.name} is not a query; only one read-only query is run.")
    if UNSAFE_WORDS.search(sql):
        _refuse_unsafe_calls(sql)
    return statements[0]


def _refuse_unsafe_calls(sql: str) -> None:
    """Refuse functions with side effects, and COPY inside WITH.

    Raises:
        QueryRejectedError: The text calls one, or hides it from our tokeniser behind a comment.
    """
    found = [token.text.lower() for token in tokens(sql, "duckdb") or []]
    if not found or sql.count("/*") > 1:  # nested comments end at different places for DuckDB and for the tokeniser
        raise QueryRejectedError("The query may call a function with side effects, which its comments hide.")
    for word, after in pairwise(found):
        if word in UNSAFE_FUNCTIONS and after == "(":
            raise QueryRejectedError(f"The query calls {word}(); only functions without side effects are run.")
        if word == "(" and after == "copy":
            raise QueryRejectedError("The query holds COPY; only one read-only query is run.")


def _translated(error: Exception, deadline: Deadline) -> DatabaseError:
    """Turn a driver's error into ours."""
    message = str(error)
    if deadline.expired or isinstance(error, duckdb.InterruptException):
        return QueryTimeoutError(message)
    if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
        return ResultTooLargeError(f"The query passes the engine's memory; DuckDB says: {message}")
    if isinstance(error, duckdb.PermissionException) or any(refusal in message for refusal in REFUSALS):
        return QueryRejectedError(f"Only one read-only query is run; DuckDB says: {message}")
    if isinstance(error, duckdb.IOException | duckdb.ResourceInUseException):
        return DatabaseError(f"DuckDB says: {message}")
    return QueryError(message)
