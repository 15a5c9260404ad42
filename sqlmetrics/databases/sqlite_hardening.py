"""How a SQLite connection is locked down: pragmas, limits, an authorizer, and a printf that knows its limits."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Callable
from typing import Any

from sqlmetrics.databases.base import QueryLimits

__all__ = ["HardenedConnection", "harden", "longest_value"]

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

SHORTEST_LIMIT = 10_000
STAR = re.compile(r"(?<!\()\*(?!\))")
FEW_COLUMNS = 20
PRINTF_TOO_LONG = "string or blob too big"
PRINTF_MARK = re.compile(r"%([-+ #!,l.*0-9]*)")
LEADING_NUMBER = re.compile(r"\s*[+-]?(\d+)")


class HardenedConnection(sqlite3.Connection):
    """A connection with a private one for its printf, which is closed with it."""

    private: sqlite3.Connection | None = None

    def close(self) -> None:
        """Close both."""
        super().close()
        if self.private is not None:
            self.private.close()

    def __del__(self) -> None:
        """Close what nobody closed: a pool goes with the database object that holds it."""
        self.close()


def harden(connection: HardenedConnection, limits: QueryLimits) -> None:
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
