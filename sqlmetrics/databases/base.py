"""What every engine offers: run one statement of untrusted SQL within limits."""

from __future__ import annotations

import json
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar, Self

from sqlmetrics.databases.deadline import Cancellation
from sqlmetrics.errors import ConfigurationError, QueryTimeoutError, nearest
from sqlmetrics.tables.table import Row, Table

__all__ = ["Database", "QueryLimits", "QueryResult", "collect_rows", "read_json", "timed_out"]

MIB = 1024 * 1024
FIRST_STEP = 16
LONGEST_STEP = 4096
STEP_BYTES = 8 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLimits:
    """What one query may cost.

    Args:
        timeout_s: Seconds from the start of the query to its last row.
        max_rows: Rows that are fetched at most; one more is looked for, to know that there are more.
        max_bytes: Bytes of memory that the fetched cells may take.
        max_cell_bytes: Bytes that one text or blob may have, where the engine can hold that.

    Raises:
        ConfigurationError: A limit is not a positive number.
    """

    timeout_s: float = 30.0
    max_rows: int = 100_000
    max_bytes: int = 256 * MIB
    max_cell_bytes: int = 1_000_000

    def __post_init__(self) -> None:
        """Check every limit."""
        for name in self.__slots__:
            value = getattr(self, name)
            kind, words = (float, "number") if name == "timeout_s" else (int, "whole number")
            if isinstance(value, bool) or not isinstance(value, int | kind) or not value > 0:
                raise ConfigurationError(f"Expected `{name}` to be a {words} above 0, but got {value!r}.")


class QueryResult:
    """The result of one query.

    Attributes:
        table: Column names and rows, exactly as the driver gave them.
        elapsed_s: Seconds from starting the query to the last fetched row.
        truncated: Whether there are more rows than the caps allowed to fetch.
        undecodable: Whether a text held bytes that are not valid in the database's encoding. They are kept, each as
            one surrogate character (`\\udc80` to `\\udcff`), so that different bytes stay different.
    """

    __slots__ = ("_types", "elapsed_s", "table", "truncated", "undecodable")

    def __init__(
        self,
        table: Table,
        *,
        elapsed_s: float,
        truncated: bool = False,
        undecodable: bool = False,
        types: tuple[str, ...] = (),
    ) -> None:
        """Keep the result."""
        self.table = table
        self.elapsed_s = elapsed_s
        self.truncated = truncated
        self.undecodable = undecodable
        self._types = types

    @property
    def types(self) -> tuple[str, ...]:
        """A type name for each column: the engine's, or for SQLite the types of the values that occur."""
        if self._types or not self.table.columns:
            return self._types
        columns = list(zip(*self.table.rows, strict=True)) or [()] * len(self.table.columns)
        return tuple(
            "/".join(sorted({type(v).__name__ for v in column} - {"NoneType"})) or "null" for column in columns
        )

    def __repr__(self) -> str:
        """Show the shape and the time."""
        return f"QueryResult({self.table!r}, elapsed_s={self.elapsed_s:.4f}, truncated={self.truncated})"


class Database(ABC):
    """One database that untrusted queries may be run against.

    An instance holds configuration only: connections open on first use, so it can be pickled and shared by threads.

    Args:
        target: What to connect to, as given to `connect`.
        limits: What one query may cost.
    """

    dialect: str
    """The SQL dialect's name, as sqlglot spells it."""

    folds_case: ClassVar[bool] = False
    """Whether names never depend on letter case, so that such texts are the same query."""

    in_process: ClassVar[bool] = False
    """Whether the engine computes in this process, so that many threads do not make short queries faster."""

    def __init__(self, target: str, limits: QueryLimits) -> None:
        """Keep the configuration."""
        self.target = target
        self.limits = limits

    @property
    def label(self) -> str:
        """How the database is named in messages and caches; never holds a password."""
        return self.target

    @abstractmethod
    def run(
        self, sql: str, *, limits: QueryLimits | None = None, cancellation: Cancellation | None = None
    ) -> QueryResult:
        """Run exactly one read-only query and fetch its rows.

        Args:
            sql: The query's text, run unchanged.
            limits: Limits for this query instead of the database's own.
            cancellation: Lets the caller stop the query.

        Returns:
            Rows and columns as the driver gave them.

        Raises:
            QueryRejectedError: The text is not one read-only query; nothing was run.
            QueryTimeoutError: The query ran into its deadline or was cancelled.
            ResultTooLargeError: A single value or the engine's memory passed its limit.
            QueryError: The engine refused the query.
            DatabaseError: The database cannot serve any query.
            ConfigurationError: The target does not exist or cannot be opened.
        """

    @abstractmethod
    def check(self) -> None:
        """Make sure that the target can be opened.

        Raises:
            ConfigurationError: It cannot; the message says why and what to do.
            MissingDependencyError: The driver is not installed.
        """

    @abstractmethod
    def close(self) -> None:
        """Close idle connections; the next query opens new ones."""

    def with_limits(self, **limits: Any) -> Self:
        """Return the same database with other limits.

        Raises:
            ConfigurationError: A limit does not exist or is not a positive number.
        """
        for name in limits:
            if name not in QueryLimits.__slots__:
                raise ConfigurationError(f"Unknown limit {name!r}; {nearest(name, QueryLimits.__slots__)}")
        copy: Self = self.__class__.__new__(self.__class__)
        copy.__setstate__({**self.__getstate__(), "limits": replace(self.limits, **limits)})
        return copy

    def __getstate__(self) -> dict[str, Any]:
        """Leave open connections out of pickles."""
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the configuration back; connections open again on first use."""
        self.__dict__.update(state)
        self._reset()

    def _reset(self) -> None:  # noqa: B027 - an engine without a pool has nothing to set up
        """Set up what is not configuration: pools and locks, empty."""

    def __enter__(self) -> Self:
        """Use the database in a `with` block."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close idle connections."""
        self.close()

    def __repr__(self) -> str:
        """Name engine and target, without a password."""
        return f"{type(self).__name__}({self.label!r})"


def collect_rows(
    fetch: Callable[[int], Sequence[Row]], limits: QueryLimits, longest_row: int | None = None
) -> tuple[list[Row], bool]:
    """Fetch rows until there are no more or a cap is hit.

    Few rows are asked for at a time where rows are wide, so that one request cannot exhaust the memory.

    Args:
        fetch: Returns so many further rows, fewer only at the end.
        limits: The caps on rows and bytes.
        longest_row: Bytes that no row can exceed, if that is known; never more rows are asked for at once than fit
            into the cap, however narrow they were so far.

    Returns:
        The rows, and whether there are more than the caps allow.
    """
    rows: list[Row] = []
    at_once = LONGEST_STEP if longest_row is None else max(1, min(LONGEST_STEP, limits.max_bytes // longest_row))
    size, step = 0, min(FIRST_STEP, at_once)
    while True:
        asked = min(step, limits.max_rows + 1 - len(rows))
        chunk = fetch(asked)
        rows += chunk
        if len(chunk) < asked and longest_row and size + len(chunk) * longest_row <= limits.max_bytes:
            return rows, False  # the end, and within the cap without counting
        chunk_bytes = _byte_count(chunk)
        size += chunk_bytes
        if len(rows) > limits.max_rows or size > limits.max_bytes:
            return rows[: limits.max_rows], True
        if len(chunk) < asked:
            return rows, False
        step = min(max(1, STEP_BYTES * len(chunk) // max(chunk_bytes, 1)), at_once)


def read_json(rows: list[Row], positions: Sequence[int]) -> list[Row]:
    """Read the JSON texts of some columns, so that they compare by value.

    Args:
        rows: The rows.
        positions: The columns that hold JSON as text.

    Returns:
        The rows with lists, maps and scalars in place of texts. SQL's NULL stays apart from JSON's, which stays a text,
        and so does a text that cannot be read.

    Examples:
        >>> read_json([('{"a": 1}', "x"), (None, "y")], [0])
        [({'a': 1}, 'x'), (None, 'y')]
    """
    if not positions:
        return rows
    return [tuple([_json(v) if i in positions else v for i, v in enumerate(row)]) for row in rows]


def _json(value: Any) -> Any:
    """Read one JSON text."""
    if not isinstance(value, str):
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return value if found is None else found


def _byte_count(rows: Sequence[Row]) -> int:
    """The memory that the cells of these rows take."""
    return sum(map(sys.getsizeof, chain.from_iterable(rows))) + 56 * len(rows)


def timed_out(limits: QueryLimits, started: float, cancellation: Cancellation | None) -> QueryTimeoutError:
    """The error for a query that was stopped."""
    if cancellation is not None and cancellation.cancelled:
        return QueryTimeoutError(f"The query was cancelled after {time.perf_counter() - started:.2f} s.")
    return QueryTimeoutError(
        f"The query was stopped after {time.perf_counter() - started:.2f} s (timeout_s={limits.timeout_s:g})."
    )
