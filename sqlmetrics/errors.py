"""Everything that sqlmetrics raises, in one tree.

```
SQLMetricsError
├── ConfigurationError        (ValueError)   a wrong option, target, URL, db_id or argument
│   └── FormatError                          an input file that cannot be read as what it should be
├── MissingDependencyError    (ImportError)  an extra is not installed; the message names it
└── DatabaseError                            the database itself fails: locked, corrupt, unreachable
    └── QueryError                           this one statement fails
        ├── QueryRejectedError               it is not one read-only query
        ├── QueryTimeoutError                it ran into its deadline
        └── ResultTooLargeError              its result passed the row or the byte cap
```

A wrong prediction is data, not an exception: metrics turn a `QueryError` of a prediction into a score of 0.0.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "ConfigurationError",
    "DatabaseError",
    "FormatError",
    "MissingDependencyError",
    "QueryError",
    "QueryRejectedError",
    "QueryTimeoutError",
    "ResultTooLargeError",
    "SQLMetricsError",
    "nearest",
]


class SQLMetricsError(Exception):
    """The root of every exception of this package.

    Examples:
        >>> issubclass(QueryTimeoutError, SQLMetricsError)
        True
    """


class ConfigurationError(SQLMetricsError, ValueError):
    """Something was set up wrongly; the message says what was expected, what came and what to do.

    Examples:
        >>> raise ConfigurationError("Expected `timeout_s` to be a number above 0, but got 0.")
        Traceback (most recent call last):
        ...
        sqlmetrics.errors.ConfigurationError: Expected `timeout_s` to be a number above 0, but got 0.
    """


class FormatError(ConfigurationError):
    """An input file is not what its format promises; the message names file and line."""


class MissingDependencyError(SQLMetricsError, ImportError):
    """An optional package is not installed.

    Args:
        package: The import name of the missing package.
        extra: The extra of sqlmetrics that brings it.
        purpose: What it is needed for, in a few words.
    """

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        """Build the message that names the extra."""
        super().__init__(f'{purpose} needs the package "{package}". Install it with: pip install "sqlmetrics[{extra}]"')
        self.package = package
        self.extra = extra


class DatabaseError(SQLMetricsError):
    """The database cannot serve any query just now (locked, corrupt, unreachable)."""


class QueryError(DatabaseError):
    """A single statement failed; the message is the engine's own."""


class QueryRejectedError(QueryError):
    """The statement is not exactly one read-only query, and was refused."""


class QueryTimeoutError(QueryError):
    """The statement ran into its deadline and was stopped by the engine."""


class ResultTooLargeError(QueryError):
    """The result passed the row cap, the byte cap or the engine's memory limit."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Say which known name is closest to a wrong one, for the end of an error message.

    Args:
        word: The name that was given.
        known: The names that exist.

    Returns:
        `did you mean 'x'?` or, where nothing is close, `known: 'x', 'y'`.

    Examples:
        >>> nearest("polcy", ["policy", "database"])
        "did you mean 'policy'?"
        >>> nearest("zzz", ["policy", "database"])
        "known: 'database', 'policy'"
    """
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    return "known: " + ", ".join(repr(name) for name in names)
