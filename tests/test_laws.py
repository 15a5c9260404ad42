"""Laws that every metric obeys."""

from __future__ import annotations

import asyncio
import json
import pickle
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sqlmetrics import ExecutionAccuracy
from sqlmetrics.errors import ConfigurationError
from sqlmetrics.metrics.base import Metric
from sqlmetrics.registry import metric_names
from sqlmetrics.results import MetricResult

GOLD = "SELECT town, count(*) AS n FROM sale GROUP BY town"
PREDICTIONS = {
    "gold itself": GOLD,
    "alias": "SELECT town AS t, count(*) AS how_many FROM sale GROUP BY town",
    "white space and case": "select town,\n  COUNT( * )  from sale group by town",
    "row order": GOLD + " ORDER BY n DESC, town DESC",
    "wrong": "SELECT town, 0 FROM sale GROUP BY town",
    "fails": "SELECT nosuch FROM sale",
    "writes": "DELETE FROM sale",
    "empty": "",
    "missing": None,
    "number": 5,
}
NEUTRAL = ("gold itself", "alias", "white space and case", "row order")
FACTORIES = {"execution_accuracy": ExecutionAccuracy}


@pytest.fixture(params=sorted(FACTORIES))
def metric(request: pytest.FixtureRequest, tmp_path: Path) -> Metric:
    """Every metric, over a small database."""
    path = tmp_path / "sale.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE sale(town TEXT, price REAL);"
            "INSERT INTO sale VALUES ('Lund', 3.5), ('Bari', 9), ('Bari', 1), ('Gent', NULL), (NULL, 2);"
        )
    return FACTORIES[request.param](str(path))


def test_every_registered_metric_is_held_to_the_laws() -> None:
    assert set(metric_names()) == set(FACTORIES)


@pytest.mark.parametrize("kind", NEUTRAL)
def test_gold_against_itself_scores_one(metric: Metric, kind: str) -> None:
    assert metric.score(response=PREDICTIONS[kind], reference=GOLD).value == 1.0


@pytest.mark.parametrize("kind", sorted(PREDICTIONS))
def test_value_lies_in_the_range_and_the_reason_says_something(metric: Metric, kind: str) -> None:
    result = metric.score(response=PREDICTIONS[kind], reference=GOLD)
    low, high = metric.value_range
    assert result.value is not None
    assert low <= result.value <= high
    assert result.reason.strip()


@pytest.mark.parametrize("kind", sorted(PREDICTIONS))
def test_same_input_same_result(metric: Metric, kind: str) -> None:
    results = [metric.score(response=PREDICTIONS[kind], reference=GOLD) for _ in range(2)]
    assert without_times(results[0]) == without_times(results[1])


def test_a_batch_equals_its_singles(metric: Metric) -> None:
    rows = [{"response": response, "reference": GOLD} for response in PREDICTIONS.values()]
    singles = [metric.score(**row) for row in rows]
    assert [without_times(r) for r in metric.batch_score(rows)] == [without_times(r) for r in singles]


async def test_one_object_scores_many_items_at_once(metric: Metric) -> None:
    kinds = sorted(PREDICTIONS) * 4
    results = await asyncio.gather(*(metric.ascore(response=PREDICTIONS[kind], reference=GOLD) for kind in kinds))
    expected = {kind: metric.score(response=PREDICTIONS[kind], reference=GOLD).value for kind in PREDICTIONS}
    assert [result.value for result in results] == [expected[kind] for kind in kinds]


@pytest.mark.parametrize("kind", sorted(PREDICTIONS))
def test_results_pickle_and_turn_into_json(metric: Metric, kind: str) -> None:
    result = metric.score(response=PREDICTIONS[kind], reference=GOLD)
    assert pickle.loads(pickle.dumps(result)) == result
    assert json.loads(result.model_dump_json())["status"] == result.status


def test_metrics_pickle(metric: Metric) -> None:
    metric.score(response=GOLD, reference=GOLD)
    again = pickle.loads(pickle.dumps(metric))
    assert again.score(response=GOLD, reference=GOLD).value == 1.0


def test_results_are_immutable(metric: Metric) -> None:
    result = metric.score(response=GOLD, reference=GOLD)
    with pytest.raises(ValueError, match="frozen"):
        result.value = 0.0


def test_an_unknown_argument_names_the_nearest(metric: Metric) -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'response'"):
        metric.score(respons=GOLD, reference=GOLD)


def test_an_unknown_argument_in_a_batch_is_refused_before_any_work(metric: Metric) -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'reference'"):
        metric.batch_score([{"response": GOLD, "reference": GOLD}, {"response": GOLD, "referense": GOLD}])


def test_ragas_arguments_are_all_accepted(metric: Metric) -> None:
    result = metric.score(
        user_input="How many?", response=GOLD, reference=GOLD, reference_contexts=["CREATE TABLE t(x)"]
    )
    assert result.value == 1.0


def test_a_failing_gold_is_not_a_score(metric: Metric) -> None:
    result = metric.score(response=GOLD, reference="SELECT nosuch FROM sale")
    assert (result.value, result.status, bool(result)) == (None, "gold_error", False)
    with pytest.raises(ValueError, match="no score"):
        float(result)


def without_times(result: MetricResult) -> dict[str, Any]:
    """A result without what differs from run to run."""
    data = result.model_dump()
    data["details"] = {
        name: value for name, value in (data["details"] or {}).items() if not name.endswith("_elapsed_s")
    }
    return data
