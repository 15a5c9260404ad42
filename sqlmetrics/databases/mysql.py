"""MySQL and MariaDB: one statement a connection, in a read-only transaction.

What stops what: without multi statements a text is one command, so it cannot leave the transaction; READ ONLY stops
writes to tables and sequences; the first word and the words for files are looked at here, since a SELECT can write a
file; the server's statement time and KILL QUERY stop what runs too long; locks and settings end with the connection.
"""

from __future__ import annotations

import math
import re
import time
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from sqlmetrics.databases.base import Database, QueryLimits, QueryResult, collect_rows, read_json, timed_out
from sqlmetrics.databases.deadline import Cancellation, Deadline
from sqlmetrics.databases.servers import address, in_time, without_password
from sqlmetrics.errors import (
    ConfigurationError,
    DatabaseError,
    MissingDependencyError,
    QueryError,
    QueryRejectedError,
    ResultTooLargeError,
    nearest,
)
from sqlmetrics.sql.statements import query_rejection
from sqlmetrics.tables.table import Table

try:
    import pymysql
    from pymysql.constants import FIELD_TYPE
    from pymysql.cursors import SSCursor
except ImportError as error:
    raise MissingDependencyError("pymysql", "mysql", "A MySQL or MariaDB database") from error

__all__ = ["MySQLDatabase"]

PORT = 3306
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
CONNECT_TIMEOUT_S = 10
KILL_TIMEOUT_S = 1
GRACE_S = 0.7
"""How long after the deadline the client waits for a server that does not answer at all."""
LONGEST_S = 31_536_000

MARIADB_SESSION = (
    "SET SESSION tx_read_only = 1, max_statement_time = {seconds:.3f}, max_recursive_iterations = 4294967295"
)
"""The server's own 1000 iterations would cut a recursive query without an error: a wrong answer."""
MYSQL_SESSION = "SET SESSION transaction_read_only = 1, max_execution_time = {milliseconds}"

SPACE = r"(?:\s|--(?:\s[^\n]*|\Z)|#[^\n]*|/\*(?!M?!).*?\*/)"
LIMIT_PREFIX = re.compile(
    rf"{SPACE}*+SET{SPACE}+STATEMENT{SPACE}+max_statement_time{SPACE}*={SPACE}*[\d.]+{SPACE}+FOR(?={SPACE}|\()",
    re.IGNORECASE | re.DOTALL,
)
FIRST_WORD = re.compile(rf"{SPACE}*+(\w+)", re.DOTALL)
QUERY_WORDS = frozenset({"SELECT", "WITH", "VALUES", "TABLE"})
CONDITIONAL_COMMENT = re.compile(
    r"""'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `[^`]*` | --(?:\s[^\n]*|\Z) | \#[^\n]* | /\*(?!M?!).*?\*/ | (/\*M?!)""",
    re.DOTALL | re.VERBOSE,
)
FILE_WORDS = re.compile(r"\b(?:OUTFILE|DUMPFILE|LOAD_FILE)\b", re.IGNORECASE)
"""Sought in the whole text, so no way of quoting hides them."""

DANGEROUS_GRANT = re.compile(r"GRANT (?:.*, )?(SUPER|FILE|ALL PRIVILEGES|ALL)(?:,.*)? ON \*\.\* TO ", re.IGNORECASE)

TIMEOUT_CODES = frozenset({1317, 1969, 3024})
REJECTED_CODES = frozenset({1044, 1142, 1143, 1227, 1290, 1370, 1792, 1836})
TOO_LARGE_CODES = frozenset({5, 1037, 1038, 1041, 1114, 1153})
DATABASE_CODES = frozenset({1040, 1053, 1203, 1205, 1213, 1226, 1927, 2003, 2006, 2013, 2055})

URL_OPTIONS = {"unix_socket": "unix_socket", "ssl_ca": "ssl_ca", "charset": ""}
TYPE_NAMES = {
    code: name.lower() for name, code in vars(FIELD_TYPE).items() if name.isupper() and name not in ("CHAR", "INTERVAL")
}


class MySQLDatabase(Database):
    """A MySQL or MariaDB database.

    Args:
        target: A `mysql://` or `mariadb://` URL; may end in `?unix_socket=...` or `?ssl_ca=...`.
        limits: What one query may cost. The server's `max_allowed_packet` bounds single values, not `max_cell_bytes`.
        allow_superuser: Whether the user may be one with SUPER, FILE or all privileges on everything.

    Raises:
        ConfigurationError: The URL holds an unknown option or a wrong port.
    """

    dialect = "mysql"

    def __init__(self, target: str, limits: QueryLimits | None = None, *, allow_superuser: bool = False) -> None:
        """Keep the configuration; every query connects anew."""
        super().__init__(target, limits or QueryLimits())
        self.allow_superuser = allow_superuser
        self._reset()
        self._arguments()

    def _reset(self) -> None:
        self._privileges_known = False

    @property
    def label(self) -> str:
        """The URL without its password."""
        return without_password(self.target)

    def check(self) -> None:
        """Connect once.

        Raises:
            ConfigurationError: The host, user, password or database is wrong, or the user may do too much.
            DatabaseError: The server takes no connections just now.
        """
        self._privileges_known = False
        self._begin(self.limits).close()

    def close(self) -> None:
        """Do nothing: no connection outlives its query."""

    def run(
        self, sql: str, *, limits: QueryLimits | None = None, cancellation: Cancellation | None = None
    ) -> QueryResult:
        """Run one read-only query; see `Database.run`.

        Raises:
            QueryError: Of the kind that `Database.run` describes.
            DatabaseError: The server is unreachable or shuts down.
            ConfigurationError: The target cannot be connected to, or the user may do too much.
        """
        rejection = _rejection(sql)
        if rejection:
            raise QueryRejectedError(rejection)
        limits = limits or self.limits
        connection = self._begin(limits)
        cursor = connection.cursor(SSCursor)
        thread_id: int = connection.thread_id()  # type: ignore[no-untyped-call]
        started = time.perf_counter()
        deadline = Deadline(limits.timeout_s, partial(self._kill, "QUERY", thread_id), cancellation, blocking=True)
        try:
            with deadline:
                result = _fetch(cursor, sql, limits, started)
            if result.truncated:
                self._kill("CONNECTION", thread_id)
            return in_time(result, limits, deadline, started, cancellation)
        except pymysql.Error as error:
            code = error.args[0] if error.args else 0
            if deadline.expired or time.perf_counter() - started >= limits.timeout_s or code in TIMEOUT_CODES:
                raise timed_out(limits, started, cancellation) from error
            raise _translated(error) from error
        finally:
            _drop(connection, cursor)

    def _begin(self, limits: QueryLimits) -> pymysql.Connection[Any]:
        """Connect and start a read-only transaction.

        Raises:
            ConfigurationError: The target cannot be connected to, or the user may do too much.
            DatabaseError: The server takes no connections just now.
        """
        connection = self._connect(read_timeout=limits.timeout_s + GRACE_S, connect_timeout=CONNECT_TIMEOUT_S)
        version: str = connection.get_server_info()  # type: ignore[no-untyped-call]
        seconds = min(limits.timeout_s, LONGEST_S)
        session = MARIADB_SESSION if "MariaDB" in version else MYSQL_SESSION
        try:
            if not self._privileges_known:
                self._check_privileges(connection)
            connection.query(session.format(seconds=max(seconds, 0.001), milliseconds=math.ceil(seconds * 1000)))
            connection.query("START TRANSACTION READ ONLY")
        except pymysql.Error as error:
            connection.close()
            raise _translated(error) from error
        except ConfigurationError:
            connection.close()
            raise
        return connection

    def _check_privileges(self, connection: pymysql.Connection[Any]) -> None:
        """Look once at what the user may do."""
        if not self.allow_superuser:
            with connection.cursor() as cursor:
                cursor.execute("SHOW GRANTS")
                grants = [str(row[0]) for row in cursor.fetchall()]
            found = next(filter(None, map(DANGEROUS_GRANT.match, grants)), None)
            if found:
                raise ConfigurationError(
                    f"The user of {self.label} has {found[1].upper()} on *.*: a query could reach the server's files. "
                    "Connect as a user that may only SELECT, or pass `connect(..., allow_superuser=True)` if the "
                    "server may be harmed."
                )
        self._privileges_known = True

    def _arguments(self) -> dict[str, Any]:
        """Read the URL.

        Raises:
            ConfigurationError: It holds an unknown option or a wrong port.
        """
        try:
            parts = urlsplit(self.target)
            port = parts.port or PORT
        except ValueError:
            parts, port = urlsplit(""), 0
        if not port or "@" in parts.path + parts.query + parts.fragment:
            raise ConfigurationError(
                f"{self.label} is not a MySQL URL. Expected mysql://user:password@host:3306/database, with special "
                "characters of the password quoted (%2F for /)."
            )
        options = dict(parse_qsl(parts.query))
        for name in options:
            if name not in URL_OPTIONS:
                raise ConfigurationError(f"Unknown option {name!r} in {self.label}; {nearest(name, URL_OPTIONS)}")
        host = unquote(parts.hostname or "localhost")
        is_local = host in LOOPBACK or "unix_socket" in options
        return {
            "host": host,
            "port": port,
            "user": unquote(parts.username or "") or None,
            "password": unquote(parts.password or "").encode(),
            "database": unquote(parts.path.lstrip("/")) or None,
            "charset": "utf8mb4",
            "local_infile": False,
            "ssl_disabled": is_local and "ssl_ca" not in options,  # setting TLS up takes 20 ms for every connection
            **{URL_OPTIONS[name]: value for name, value in options.items() if URL_OPTIONS[name]},
        }

    def _connect(self, *, read_timeout: float, connect_timeout: float) -> pymysql.Connection[Any]:
        """Open a connection."""
        try:
            return pymysql.connect(
                **self._arguments(), autocommit=None, read_timeout=read_timeout, connect_timeout=connect_timeout
            )
        except pymysql.Error as error:
            code, message = (*error.args, "", "")[:2]
        if code in (1040, 1053, 1203, 1226):
            raise DatabaseError(f"{self.label} takes no connections just now: {message}.")
        raise ConfigurationError(
            f"Cannot connect to {address(self.label, PORT)}: {message}. Check that the server runs and that host, "
            "port, user, password and database are right."
        )

    def _kill(self, what: str, thread_id: int) -> None:
        """Stop a query, or drop its connection, through a second connection."""
        try:
            connection = self._connect(read_timeout=KILL_TIMEOUT_S, connect_timeout=KILL_TIMEOUT_S)
        except (ConfigurationError, DatabaseError):
            return  # asked again in a moment; the read timeout ends the query in the end
        try:
            connection.query(f"KILL {what} {thread_id:d}")
        except pymysql.Error:
            return  # it has ended meanwhile
        finally:
            connection.close()


class _Decoder:
    """Decodes a text, keeps bytes that are no UTF-8 as surrogates, and remembers that there were some."""

    __slots__ = ("undecodable",)

    def __init__(self) -> None:
        self.undecodable = False

    def __call__(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            self.undecodable = True
            return data.decode("utf-8", "surrogateescape")


def _rejection(sql: str) -> str | None:
    """Say why a text is not run."""
    if "\0" in sql:
        return "The text holds a NUL character, which would hide what follows."
    prefix = LIMIT_PREFIX.match(sql)
    query = sql[prefix.end() :] if prefix else sql
    first = FIRST_WORD.match(query)
    if first and first[1].upper() not in QUERY_WORDS:
        return f"{first[1].upper()} is not a query; only one read-only query is run."
    if any(found[1] for found in CONDITIONAL_COMMENT.finditer(sql)):
        return "The query holds a conditional comment (/*! */), which some servers run and others skip."
    files = FILE_WORDS.search(sql)
    if files:
        return f"The query holds {files[0].upper()}, which reaches the server's files; only one read-only query is run."
    return query_rejection(query, "mysql")


def _fetch(cursor: SSCursor, sql: str, limits: QueryLimits, started: float) -> QueryResult:
    """Execute and fetch within the caps."""
    try:
        cursor.execute(sql)
    except UnicodeEncodeError as error:
        raise QueryError(f"The text is not valid Unicode: {error.reason}.") from error
    if cursor.description is None:
        raise QueryError("The statement returns no rows.")
    decode = _Decoder()
    result: Any = vars(cursor)["_result"]  # PyMySQL decodes strictly and offers no other way in
    result.converters = [(None, decode) if code == "utf8" else (code, convert) for code, convert in result.converters]
    rows, truncated = collect_rows(cursor.fetchmany, limits)
    columns = tuple([column[0] for column in cursor.description])
    types = tuple([TYPE_NAMES.get(column[1], str(column[1])) for column in cursor.description])
    rows = read_json(rows, [place for place, name in enumerate(types) if name == "json"])  # MariaDB calls it text
    return QueryResult(
        Table.trusted(columns, rows),
        elapsed_s=time.perf_counter() - started,
        truncated=truncated,
        undecodable=decode.undecodable,
        types=types,
    )


def _drop(connection: pymysql.Connection[Any], cursor: SSCursor) -> None:
    """Close the connection without reading the rows that are left."""
    result: Any = vars(cursor)["_result"]  # closing the cursor would read them all
    if result is not None:
        result.unbuffered_active = False
    cursor.close()
    if connection.open:
        connection.close()


def _translated(error: pymysql.Error) -> DatabaseError:
    """Turn a server's error into ours, by its number."""
    code, message = (*error.args, 0, "")[:2]
    if code in REJECTED_CODES:
        return QueryRejectedError(f"Only one read-only query is run; the server says: {message}.")
    if code in TOO_LARGE_CODES:
        return ResultTooLargeError(f"The query passes a limit of the server; it says: {message}.")
    if code in DATABASE_CODES:
        return DatabaseError(f"The server says: {message}")
    return QueryError(str(message or error))
