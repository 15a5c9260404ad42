"""`connect`: from a path or URL to a database."""

from __future__ import annotations

import os
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote, urlsplit

from sqlmetrics.databases.base import MIB, Database, QueryLimits
from sqlmetrics.databases.servers import without_password
from sqlmetrics.errors import ConfigurationError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["check_options", "connect"]

_DUCKDB_MAGIC = slice(8, 12)
_SCHEMES = {
    "sqlite": ("sqlite", "SQLiteDatabase"),
    "duckdb": ("duckdb", "DuckDBDatabase"),
    "postgresql": ("postgres", "PostgresDatabase"),
    "postgres": ("postgres", "PostgresDatabase"),
    "mysql": ("mysql", "MySQLDatabase"),
    "mariadb": ("mysql", "MySQLDatabase"),
}
_SERVERS = ("PostgresDatabase", "MySQLDatabase")
_SECRET = re.compile(r"(?i)(?:password|passwd|pwd)\s*=|^jdbc:|^\w+:?/{1,2}[^/]*:[^/]*@")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9]*)(\+[A-Za-z0-9_]+)?://")


def connect(
    target: str | os.PathLike[str],
    *,
    timeout_s: float = 30.0,
    max_rows: int = 100_000,
    max_bytes: int = 256 * MIB,
    max_cell_bytes: int = 1_000_000,
    isolation: Literal["thread", "process"] = "thread",
    allow_superuser: bool = False,
    **unknown: Any,
) -> Database:
    """Connect to a database for untrusted, read-only queries.

    Nothing is opened yet: the first query does that, or `Database.check`.

    Args:
        target: The path of a SQLite or DuckDB file, or a URL: `sqlite:///`, `duckdb:///`, `postgresql://`, `mysql://`,
            or any other SQLAlchemy URL.
        timeout_s: Seconds that one query may run, fetching included.
        max_rows: Rows that are fetched at most.
        max_bytes: Bytes of memory that the fetched cells may take.
        max_cell_bytes: Bytes that one text or blob may have, on engines that can hold that.
        isolation: `thread` runs queries in the calling thread under the engine's own limits; `process` adds a child
            process with a memory limit and a hard kill, for single function calls that no engine can stop.
        allow_superuser: Accept a server role that could read files or run programs.
        **unknown: Refused, with the name of the nearest right option.

    Returns:
        The database.

    Raises:
        ConfigurationError: The target is empty or of an unknown kind, an option is out of range or does not exist.
        MissingDependencyError: The driver's extra is not installed.

    Examples:
        >>> connect("shop.sqlite", timeout_s=5).limits.timeout_s
        5
    """
    check_options(unknown)
    limits = QueryLimits(timeout_s=timeout_s, max_rows=max_rows, max_bytes=max_bytes, max_cell_bytes=max_cell_bytes)
    if isolation not in ("thread", "process"):
        raise ConfigurationError(f"Expected `isolation` to be 'thread' or 'process', but got {isolation!r}.")
    database = _open(_as_text(target), limits, allow_superuser=allow_superuser)
    if isolation == "thread":
        return database
    isolated: Database = _leaf("isolated", "IsolatedDatabase")(database)
    return isolated


OPTIONS = ("timeout_s", "max_rows", "max_bytes", "max_cell_bytes", "isolation", "allow_superuser")


def check_options(options: Iterable[str]) -> None:
    """Make sure that `connect` has these options.

    Raises:
        ConfigurationError: It lacks one; the message names the nearest.
    """
    for option in options:
        if option not in OPTIONS:
            raise ConfigurationError(f"Unknown option {option!r}; {nearest(option, OPTIONS)}")


def _as_text(target: object) -> str:
    """Check the target's type."""
    if not isinstance(target, str | os.PathLike) or not str(target).strip():
        raise ConfigurationError(f"Expected a path or URL of a database, but got {target!r}.")
    text = os.fspath(target)
    if not isinstance(text, str) or "\0" in text:
        raise ConfigurationError("Expected a path or URL of a database as text without NUL characters.")
    return text


def _open(target: str, limits: QueryLimits, *, allow_superuser: bool) -> Database:
    """Choose the engine by the URL's scheme or the file's first bytes."""
    url = _URL.match(target)
    database: Database
    if url is None and _SECRET.search(target):
        raise ConfigurationError(
            "This looks like a connection string with a password in it; expected a path or a URL such as "
            "postgresql://user:password@host/database."
        )
    if url is None:
        module, name = _SCHEMES["duckdb" if _is_duckdb_file(target) else "sqlite"]
        database = _leaf(module, name)(target, limits)
        return database
    scheme = url[1].lower()
    if scheme in _SCHEMES and not (url[2] and scheme in ("sqlite", "duckdb")):
        module, name = _SCHEMES[scheme]
        if name in _SERVERS:
            database = _leaf(module, name)(target, limits, allow_superuser=allow_superuser)
        else:
            database = _leaf(module, name)(_url_path(target), limits)
        return database
    if scheme in ("http", "https", "file", "ftp", "s3"):
        hint = nearest(scheme, _SCHEMES)
        raise ConfigurationError(f"{scheme}:// is no database URL; {hint}. For a file give its path.")
    database = _leaf("sqlalchemy", "SQLAlchemyDatabase")(target, limits)
    return database


def _leaf(module: str, name: str) -> Callable[..., Any]:
    """Import an engine's module only when it is wanted."""
    return getattr(import_module(f"sqlmetrics.databases.{module}"), name)  # type: ignore[no-any-return]


def _url_path(target: str) -> str:
    """The path in a file URL: three slashes for a relative path, four for an absolute one.

    Raises:
        ConfigurationError: The URL names a host, or no path.
    """
    parts = urlsplit(target)
    if parts.netloc or len(parts.path) < 2:
        scheme = parts.scheme
        raise ConfigurationError(
            f"{without_password(target)!r} names no file: write {scheme}:///relative/path or {scheme}:////absolute/path."
        )
    return unquote(parts.path[1:])


def _is_duckdb_file(target: str) -> bool:
    """Whether a file says that it is a DuckDB database, by its magic bytes or else by its name."""
    path = Path(target)
    try:
        with path.open("rb") as file:
            head = file.read(_DUCKDB_MAGIC.stop)
    except OSError:
        head = b""
    return head[_DUCKDB_MAGIC] == b"DUCK" if head else path.suffix in (".duckdb", ".ddb")
