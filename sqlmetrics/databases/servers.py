"""What the engines behind a URL share: names without passwords, and results that came too late."""

from __future__ import annotations

import time
from urllib.parse import urlsplit

from sqlmetrics.databases.base import QueryLimits, QueryResult, timed_out
from sqlmetrics.databases.deadline import Cancellation, Deadline

__all__ = ["address", "in_time", "without_password"]

SECRETS = ("password", "passwd", "pwd", "passphrase", "secret", "token", "key", "odbc_connect")


def without_password(url: str) -> str:
    """Leave every password out of a URL.

    Args:
        url: A database URL; may be malformed.

    Returns:
        The URL without the password of its user part and without parameters that hold one.

    Examples:
        >>> without_password("postgresql://ann:pa@ss@db:5432/shop?sslmode=require&password=x")
        'postgresql://ann@db:5432/shop?sslmode=require'
    """
    # A password may hold any character, "/" and "?" too if it was not quoted, so the last "@" ends it.
    scheme, mark, rest = url.partition("://")
    credentials, at, place = rest.rpartition("@")
    user = credentials.partition(":")[0] + at if at else ""
    place, question, query = place.partition("?")
    harmless = [part for part in query.split("&") if not part.partition("=")[0].lower().endswith(SECRETS)]
    return f"{scheme}{mark}{user}{place}{question if any(harmless) else ''}{'&'.join(harmless)}"


def address(label: str, default_port: int) -> str:
    """Name database, host and port for a message.

    Examples:
        >>> address("postgresql://ann@db/shop", 5432)
        "database 'shop' at db:5432 (postgresql://ann@db/shop)"
    """
    parts = urlsplit(label)
    try:
        port = parts.port or default_port
    except ValueError:  # no number; the label shows it
        port = default_port
    return f"database {parts.path.lstrip('/')!r} at {parts.hostname or 'the local socket'}:{port} ({label})"


def in_time(
    result: QueryResult, limits: QueryLimits, deadline: Deadline, started: float, cancellation: Cancellation | None
) -> QueryResult:
    """Pass a result on if it came in time; some engines end a stopped query early with a value and no error.

    Args:
        result: What the engine gave.
        limits: The limits that the query ran under.
        deadline: The query's deadline.
        started: `time.perf_counter()` at the start of the query.
        cancellation: What the caller could stop the query with.

    Returns:
        The result, unchanged.

    Raises:
        QueryTimeoutError: It came too late.
    """
    if deadline.expired or time.perf_counter() - started >= limits.timeout_s:
        raise timed_out(limits, started, cancellation)
    return result
