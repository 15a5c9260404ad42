"""Our policies against the verdicts of the original evaluators, on published predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sqlmetrics import ExecutionAccuracy
from tests.benchmarks.published import (
    bird_catalog,
    bird_files,
    deviations,
    mechanism_counts,
    spider_catalog,
    spider_files,
)


@pytest.mark.parametrize(
    ("policy", "options", "key"),
    [
        pytest.param("bird", {}, "bird_ex", id="bird"),
        pytest.param("test_suite", {}, "test_suite_ex", id="test_suite"),
        pytest.param("test_suite", {"keep_distinct": True}, "test_suite_ex_keep_distinct", id="keep_distinct"),
    ],
)
def test_spider_verdicts_are_reproduced(shared_dir: Path, policy: str, options: dict[str, Any], key: str) -> None:
    spider = shared_dir / "data" / "spider"
    files = spider_files(spider)
    assert sum(len(file.rows) for file in files) == 7238
    found = list(deviations(files, ExecutionAccuracy(spider_catalog(spider), policy, **options), key))
    assert not found


def test_bird_verdicts_are_reproduced(shared_dir: Path) -> None:
    bird = shared_dir / "data" / "bird"
    files = bird_files(bird)
    assert sum(len(file.rows) for file in files) == 1190
    assert not list(deviations(files, ExecutionAccuracy(bird_catalog(bird), "bird"), "bird_ex"))


def test_details_tell_what_the_originals_say(shared_dir: Path) -> None:
    spider = shared_dir / "data" / "spider"
    metric = ExecutionAccuracy(spider_catalog(spider))
    for file in spider_files(spider)[:2]:
        for expected, result in zip(file.expected, metric.batch_score(file.rows), strict=True):
            others = result.details.other_policies or {"bird": False, "test_suite": False}  # type: ignore[union-attr]
            assert others == {"bird": bool(expected["bird_ex"]), "test_suite": bool(expected["test_suite_ex"])}


def test_every_known_disagreement_is_named(shared_dir: Path) -> None:
    data = shared_dir / "data"
    named, unnamed = mechanism_counts(data / "disagreements.jsonl", data / "spider", data / "bird")
    assert not unnamed
    assert named.total() == 427
