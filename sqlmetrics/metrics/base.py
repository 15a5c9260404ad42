"""The shape of a metric: one async implementation, a synchronous twin, and batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, ClassVar

from sqlmetrics.databases.base import Database
from sqlmetrics.databases.catalog import DatabaseCatalog
from sqlmetrics.databases.deadline import Cancellation
from sqlmetrics.errors import ConfigurationError, SQLMetricsError, nearest
from sqlmetrics.metrics.loop import run_sync
from sqlmetrics.metrics.queries import DatabaseSource, QuerySession
from sqlmetrics.metrics.workers import default_concurrency, run_blocking, stream_blocking
from sqlmetrics.results import MetricResult, Status

__all__ = ["ARGUMENTS", "BlockingMetric", "Metric", "Row"]

ARGUMENTS = ("user_input", "response", "reference", "reference_contexts", "database", "db_id")
"""The arguments of every metric's `ascore`, in ragas' names; a metric ignores those that it does not need."""

Row = Mapping[str, Any]


def check_arguments(row: Row) -> None:
    """Raise if a row holds an argument that no metric takes.

    Raises:
        ConfigurationError: It does; the message names the nearest right one.
    """
    for name in row:
        if name not in ARGUMENTS:
            raise ConfigurationError(f"Unknown argument {name!r}; {_hint(str(name))}")


def _hint(name: str) -> str:
    """What to write instead of a wrong argument."""
    meant = {"prediction": "response", "predicted_sql": "response", "gold": "reference", "gold_sql": "reference"}
    if name in ("id", "question_id", "metadata", "difficulty"):
        return "rows of a data set go to evaluate()"
    if name in meant:
        return f"write {meant[name]!r}"
    return nearest(name, ARGUMENTS)


class Metric(ABC):
    """What all metrics have in common.

    A metric holds configuration only: it pickles, and one object may score many items at once.
    """

    name: ClassVar[str]
    """The metric's name in reports and on the command line."""

    needs: ClassVar[tuple[str, ...]] = ("response", "reference")
    """The arguments without which nothing can be scored."""

    value_range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    """Least and greatest value; higher is always better."""

    @abstractmethod
    async def ascore(self, **arguments: Any) -> MetricResult:
        """Score one item."""

    def score(self, **arguments: Any) -> MetricResult:
        """Score one item from code without an event loop, or from inside one (a notebook).

        Args:
            **arguments: The arguments of `ascore`.

        Returns:
            What `ascore` returns.

        Raises:
            ConfigurationError: As `ascore` does.
        """
        return run_sync(self.ascore(**arguments))

    async def abatch_score(self, rows: Iterable[Row], *, concurrency: int | None = None) -> list[MetricResult]:
        """Score many items with bounded concurrency.

        Args:
            rows: Dicts of `ascore`'s arguments.
            concurrency: How many items are at work at once.

        Returns:
            One result a row, in the order of the rows. A row that breaks (an unknown `db_id`, say) is marked with
            the value `None`; the others go on.

        Raises:
            ConfigurationError: A row holds an unknown argument, or is no mapping; nothing was run then.
        """
        if isinstance(rows, Mapping) or not isinstance(rows, Iterable):
            raise ConfigurationError(f"Expected `rows` to be a list of dicts, but got {type(rows).__name__}.")
        listed = list(rows)
        for number, row in enumerate(listed):
            if not isinstance(row, Mapping):
                raise ConfigurationError(f"Expected row {number} to be a dict of arguments, but got {row!r}.")
            check_arguments(row)
        results: list[MetricResult | None] = [None] * len(listed)
        async for position, result in self.stream(listed, concurrency=concurrency):
            results[position] = result
        return [result for result in results if result is not None]

    def batch_score(self, rows: Iterable[Row], *, concurrency: int | None = None) -> list[MetricResult]:
        """Score many items from code without an event loop; see `abatch_score`.

        Raises:
            ConfigurationError: As `abatch_score` does.
        """
        return run_sync(self.abatch_score(rows, concurrency=concurrency))

    @abstractmethod
    def stream(
        self, rows: Iterable[Row], *, concurrency: int | None = None, session: QuerySession | None = None
    ) -> AsyncIterator[tuple[int, MetricResult]]:
        """Score rows as they come and yield position and result as each ends."""


class BlockingMetric(Metric):
    """A metric whose work is running queries and comparing tables, done in threads.

    Args:
        database: Where queries run, unless an item says otherwise.
    """

    def __init__(self, database: DatabaseSource) -> None:
        """Keep the database."""
        self.database = database

    def __repr__(self) -> str:
        """Name the metric, its policy and its database, without a password."""
        policy = getattr(getattr(self, "policy", None), "name", None)
        return f"{type(self).__name__}(database={self.database!r}" + (f", policy={policy!r})" if policy else ")")

    repeatable: ClassVar[bool] = True
    """Whether the same queries on the same database give the same result, so that a batch judges each pair once."""

    @abstractmethod
    def judge(self, row: Row, session: QuerySession, cancellation: Cancellation | None = None) -> MetricResult:
        """Score one item in the calling thread."""

    async def _ascore(self, row: Row) -> MetricResult:
        """Score one item in a thread.

        Raises:
            ConfigurationError: There is no such database, or it cannot be opened.
        """
        return await run_blocking(lambda cancellation: self.judge(row, QuerySession(), cancellation))

    async def stream(
        self, rows: Iterable[Row], *, concurrency: int | None = None, session: QuerySession | None = None
    ) -> AsyncIterator[tuple[int, MetricResult]]:
        """Score rows in worker threads; queries that several rows share run once.

        Args:
            rows: Dicts of `ascore`'s arguments.
            concurrency: Threads at most; by default the number of cores, or 16 for a database server.
            session: Shares outcomes of queries with other metrics of one evaluation.

        Yields:
            Position and result, in the order in which they end.

        Raises:
            ConfigurationError: The concurrency is not a positive number.
        """
        if concurrency is not None and (not isinstance(concurrency, int) or concurrency < 1):
            raise ConfigurationError(f"Expected `concurrency` to be a whole number above 0, but got {concurrency!r}.")
        shared = session or QuerySession()
        in_process = getattr(self.database, "in_process", True)

        def judge(row: Row, cancellation: Cancellation) -> MetricResult:
            try:
                return self._judge_once(row, shared, cancellation)
            except SQLMetricsError as error:
                return MetricResult(value=None, reason=str(error), status=Status.DATABASE_ERROR)

        stream = stream_blocking(
            rows, judge, concurrency=concurrency or default_concurrency(in_process=in_process), ramp=in_process
        )
        async for entry in stream:
            yield entry

    def _judge_once(self, row: Row, session: QuerySession, cancellation: Cancellation) -> MetricResult:
        """Judge a pair of queries unless this session has judged it before."""
        response, reference = row.get("response"), row.get("reference")
        source = row.get("database") or self.database
        repeated = type(response) is str and type(reference) is str and isinstance(source, Database | DatabaseCatalog)
        if not (repeated and self.repeatable):
            return self.judge(row, session, cancellation)
        key = (id(self), id(source), row.get("db_id"), response, reference)
        result = session.recall(key)
        if result is None:
            result = self.judge(row, session, cancellation)
            session.keep(key, (self, source), result)
        return result
