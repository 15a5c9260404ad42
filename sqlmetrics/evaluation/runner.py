"""`evaluate`: many items under several metrics."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from sqlmetrics.databases.catalog import DatabaseCatalog
from sqlmetrics.errors import ConfigurationError, SQLMetricsError
from sqlmetrics.evaluation.formats.detect import load_samples
from sqlmetrics.evaluation.report import EvaluationReport, check_keys
from sqlmetrics.evaluation.samples import Sample, check_samples, is_unanswered, unique_ids
from sqlmetrics.metrics.base import Metric
from sqlmetrics.metrics.loop import run_sync
from sqlmetrics.metrics.queries import DatabaseSource, QuerySession, as_database_source, find_database
from sqlmetrics.registry import find_metric
from sqlmetrics.results import MetricResult

__all__ = ["aevaluate", "evaluate"]

SHOWN_PROBLEMS = 5


def evaluate(
    data: Any,
    metrics: Metric | str | Sequence[Metric | str],
    *,
    database: Any = None,
    by: str | Sequence[str] = (),
    concurrency: int | None = None,
    progress: bool = True,
) -> EvaluationReport:
    """Score a data set; the same as `aevaluate` for code without an event loop, or inside one (a notebook).

    Args:
        data: A list of dicts or `Sample`s, a DataFrame, or the path of a JSONL, JSON, CSV or Spider gold file.
        metrics: Metrics, or their names.
        database: Where queries run, for items that do not say.
        by: Keys to break the summary down by.
        concurrency: How many items are at work at once.
        progress: Whether to show a progress bar (on a terminal).

    Returns:
        The report.

    Raises:
        ConfigurationError: The data are empty, an id repeats, a key or metric is unknown, or no database can be opened.

    Examples:
        >>> from sqlmetrics import ExecutionAccuracy, Table
        >>> one, two = Table(["n"], [(1,)]), Table(["n"], [(2,)])
        >>> rows = [{"response": one, "reference": one}, {"response": two, "reference": one}]
        >>> evaluate(rows, ExecutionAccuracy(), progress=False).summary()[0].mean
        0.5
    """
    return run_sync(aevaluate(data, metrics, database=database, by=by, concurrency=concurrency, progress=progress))


async def aevaluate(
    data: Any,
    metrics: Metric | str | Sequence[Metric | str],
    *,
    database: Any = None,
    by: str | Sequence[str] = (),
    concurrency: int | None = None,
    progress: bool = True,
) -> EvaluationReport:
    """Score a data set from async code; see `evaluate`.

    Raises:
        ConfigurationError: As `evaluate` says.
    """
    samples = read_samples(data)
    keys = (by,) if isinstance(by, str) else tuple(by)
    check_keys(keys, samples)
    source = as_database_source(database)
    chosen = _metrics(metrics)
    if all("reference" in metric.needs for metric in chosen.values()):
        check_samples(samples, os.fspath(data) if isinstance(data, str | os.PathLike) else "the data set")
    with ExitStack() as opened:
        if source is not None and source is not database:
            opened.callback(source.close)
        notes = await asyncio.to_thread(_check_databases, samples, chosen, source)
        results = await _results(samples, chosen, source, concurrency=concurrency, progress=progress)
    return EvaluationReport(samples, results, keys, notes)


async def _results(
    samples: list[Sample],
    metrics: dict[str, Metric],
    source: DatabaseSource,
    *,
    concurrency: int | None,
    progress: bool,
) -> dict[str, list[MetricResult]]:
    """Score all samples under all metrics, which share the outcomes of queries."""
    session = QuerySession()
    results: dict[str, list[MetricResult]] = {}
    with _progress(len(samples) * len(metrics), shown=progress) as advance:
        for name, metric in metrics.items():
            found: dict[int, MetricResult] = {}
            rows = (_arguments(sample, source) for sample in samples)
            async for position, result in metric.stream(rows, concurrency=concurrency, session=session):
                found[position] = result
                advance()
            results[name] = [found[position] for position in range(len(samples))]
    return results


def read_samples(data: Any) -> list[Sample]:
    """Turn what a caller passes as data into samples with unique ids.

    Args:
        data: A path, a DataFrame, or an iterable of dicts and samples.

    Returns:
        The samples.

    Raises:
        ConfigurationError: It is none of those, empty, or an id repeats.
    """
    if isinstance(data, str | os.PathLike):
        return load_samples(data)
    if hasattr(data, "to_dict") and hasattr(data, "isna"):
        missing = data.isna().to_dict("records")
        records = data.to_dict("records")
        data = [
            {name: None if gone[name] is True else value for name, value in record.items()}
            for record, gone in zip(records, missing, strict=True)
        ]
    if isinstance(data, Mapping) or not isinstance(data, Iterable):
        raise ConfigurationError(f"Expected a list of dicts, a DataFrame or a path, but got {type(data).__name__}.")
    samples = [_sample(row, position) for position, row in enumerate(data)]
    if not samples:
        raise ConfigurationError("There is nothing to evaluate: the data set is empty.")
    return list(unique_ids(samples, "the data set"))


def _sample(row: Any, position: int) -> Sample:
    """One item; a sample without an id gets its place as id."""
    if isinstance(row, Sample):
        return row if row.id else replace(row, id=str(position))
    return Sample.from_mapping(row, position)


def _metrics(metrics: Metric | str | Sequence[Metric | str]) -> dict[str, Metric]:
    """Name the metrics; several of the same name get their policies behind it."""
    if isinstance(metrics, type):
        raise ConfigurationError(
            f"Expected a metric, but got the class {metrics.__name__}; write {metrics.__name__}(...)."
        )
    listed: list[Any] = list(metrics) if isinstance(metrics, list | tuple) else [metrics]
    if not listed:
        raise ConfigurationError("There is nothing to evaluate with: pass at least one metric.")
    built = [find_metric(entry)() if isinstance(entry, str) else entry for entry in listed]
    for entry in built:
        if not isinstance(entry, Metric):
            raise ConfigurationError(f"Expected a metric or its name, but got {entry!r}.")
    counts = Counter(metric.name for metric in built)
    named: dict[str, Metric] = {}
    for metric in built:
        policy = getattr(getattr(metric, "policy", None), "name", None)
        name = f"{metric.name}[{policy}]" if counts[metric.name] > 1 and policy else metric.name
        while name in named:
            name += "'"
        named[name] = metric
    return named


def _arguments(sample: Sample, source: DatabaseSource) -> dict[str, Any]:
    """An item's arguments, with the evaluation's database where it has none of its own."""
    arguments = sample.arguments()
    if arguments["database"] is None and source is not None:
        arguments["database"] = source
    return arguments


def _check_databases(samples: list[Sample], metrics: dict[str, Metric], source: DatabaseSource) -> list[str]:
    """Open every database once, before any work is done.

    Returns:
        Notes on databases that cannot be opened, if others can; their items will be marked.

    Raises:
        ConfigurationError: None can be opened.
    """
    sources = [source] if source is not None else [getattr(metric, "database", None) for metric in metrics.values()]
    wanted = {sample.db_id for sample in samples if sample.database is None and _runs_queries(sample)}
    problems: dict[str, str] = {}
    good = 0
    for db_id in sorted(wanted, key=str):
        for entry in sources:
            try:
                find_database(entry, db_id).check()
                good += 1
            except SQLMetricsError as error:
                problems.setdefault(str(error), _place(entry, db_id))
    listed = [place + message for message, place in problems.items()]
    if problems and not good:
        raise ConfigurationError("\n  ".join(["No database can be opened.", *listed[:SHOWN_PROBLEMS]]))
    return listed


def _place(source: DatabaseSource, db_id: str | None) -> str:
    """Where a database was looked for, in front of what went wrong."""
    if db_id is None:
        return ""
    return f"{source.describe(db_id)}: " if isinstance(source, DatabaseCatalog) else f"db_id {db_id!r}: "


def _runs_queries(sample: Sample) -> bool:
    """Whether any side of an item is a query."""
    references = sample.reference if isinstance(sample.reference, list | tuple) else [sample.reference]
    return any(isinstance(side, str) and not is_unanswered(side) for side in (sample.response, *references))


@contextmanager
def _progress(total: int, *, shown: bool) -> Iterator[Any]:
    """A progress bar on the terminal's error stream; nothing where there is no terminal."""
    if not shown:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("scoring"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("scoring", total=total)
        yield lambda: bar.advance(task)
