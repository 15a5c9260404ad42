"""Published golds, predictions and verdicts, read from a directory laid out as Spider and BIRD publish them.

A directory holds `dev_gold.sql` or `*.jsonl` golds, `predictions/` and `expected.jsonl` with one verdict a prediction.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlmetrics import DatabaseCatalog, ExecutionAccuracy, MetricResult
from sqlmetrics.evaluation.formats.detect import join_predictions, load_samples, read_predictions
from sqlmetrics.evaluation.samples import Sample


@dataclass(frozen=True)
class PublishedFile:
    """One prediction file: its rows as arguments of `ascore`, and the verdicts of the original evaluators."""

    name: str
    rows: list[dict[str, Any]]
    expected: list[dict[str, Any]]


def spider_catalog(directory: Path, **options: Any) -> DatabaseCatalog:
    """Spider's databases."""
    return DatabaseCatalog(f"{directory}/database/{{db_id}}/{{db_id}}.sqlite", **options)


def bird_catalog(directory: Path, **options: Any) -> DatabaseCatalog:
    """BIRD's databases."""
    return DatabaseCatalog(f"{directory}/databases/{{db_id}}/{{db_id}}.sqlite", **options)


def spider_files(directory: Path) -> list[PublishedFile]:
    """All prediction files on Spider's dev set."""
    verdicts = _verdicts(directory)
    files = []
    for path in sorted((directory / "predictions").iterdir()):
        samples = load_samples(directory / "dev_gold.sql")
        files.append(_published(path, samples, verdicts))
    return files


def bird_files(directory: Path) -> list[PublishedFile]:
    """All prediction files on the two BIRD databases that are at hand."""
    verdicts = _verdicts(directory)
    files = []
    for path in sorted((directory / "predictions").iterdir()):
        mini = "mini_dev" in path.name
        gold = directory / ("mini_dev.jsonl" if mini else "dev_gold.jsonl")
        samples = load_samples(gold, id_key="position" if mini else None)
        files.append(_published(path, samples, verdicts))
    return files


def _verdicts(directory: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """The original evaluators' verdicts by file and index."""
    rows = map(json.loads, (directory / "expected.jsonl").read_text(encoding="utf-8").splitlines())
    return {(row["file"], str(row["index"])): row for row in rows}


def _published(path: Path, samples: list[Sample], verdicts: dict[tuple[str, str], dict[str, Any]]) -> PublishedFile:
    """Pair one file with its golds; what has no verdict is left out."""
    samples, _ = join_predictions(samples, read_predictions(path), path.name, by_line=False)
    judged = [sample for sample in samples if (path.name, sample.id) in verdicts]
    return PublishedFile(
        path.name, [sample.arguments() for sample in judged], [verdicts[path.name, sample.id] for sample in judged]
    )


def deviations(
    files: list[PublishedFile], metric: ExecutionAccuracy, key: str
) -> Iterator[tuple[PublishedFile, int, MetricResult]]:
    """Items on which a metric and an original evaluator disagree."""
    for file in files:
        for index, result in enumerate(metric.batch_score(file.rows)):
            if float(file.expected[index][key]) != (result.value or 0.0):
                yield file, index, result


def mechanism_counts(path: Path, spider: Path, bird: Path) -> tuple[Counter[str], list[str]]:
    """Known disagreements between evaluators: how often our reason codes name the mechanism, and where they do not."""
    codes = {
        "column order": "column_order",
        "row multiplicity": "row_multiplicity",
        "row order": "row_order",
        "distinct stripped by test-suite default": "distinct_stripped",
    }
    named: Counter[str] = Counter()
    unnamed = []
    metrics = {
        "spider_dev": ExecutionAccuracy(spider_catalog(spider)),
        "bird": ExecutionAccuracy(bird_catalog(bird)),
    }
    for pair in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        metric = metrics["spider_dev" if pair["source"].startswith("spider") else "bird"]
        result = metric.score(response=pair["pred_sql"], reference=pair["gold_sql"], db_id=pair["db_id"])
        if codes[pair["mechanism"]] in result.details.reason_codes:  # type: ignore[union-attr]
            named[pair["mechanism"]] += 1
        else:
            unnamed.append(
                f"{pair['db_id']}: {pair['mechanism']}: {pair['gold_sql']} | {pair['pred_sql']} | {result!r}"
            )
    return named, unnamed
