"""evaluate: order, groups, databases that fail, repeated queries, and event loops."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sqlmetrics import DatabaseCatalog, ExecutionAccuracy, Sample, Table, aevaluate, connect, evaluate
from sqlmetrics.databases.base import QueryLimits, QueryResult
from sqlmetrics.databases.deadline import Cancellation
from sqlmetrics.databases.sqlite import SQLiteDatabase
from sqlmetrics.errors import ConfigurationError
from sqlmetrics.metrics.loop import run_sync

ONE = Table(["n"], [(1,)])
TWO = Table(["n"], [(2,)])


def rows_of(*pairs: tuple[Any, Any], **more: list[Any]) -> list[dict[str, Any]]:
    """Items from pairs of response and reference, with further keys by column."""
    return [
        {"response": response, "reference": reference, **{name: values[i] for name, values in more.items()}}
        for i, (response, reference) in enumerate(pairs)
    ]


def values(report: Any, metric: str = "execution_accuracy") -> list[float | None]:
    """The values of one metric."""
    return [result.value for result in report.results[metric]]


def statuses(report: Any, metric: str = "execution_accuracy") -> list[str]:
    """The statuses of one metric."""
    return [result.status.value for result in report.results[metric]]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE t(x); INSERT INTO t VALUES (1), (2), (2)")
    connection.close()
    return path


class CountingDatabase(SQLiteDatabase):
    """Counts how often each query really runs."""

    def _reset(self) -> None:
        super()._reset()
        self._counts: Counter[str] = Counter()
        self._most = self._now = 0
        self._count_lock = threading.Lock()

    def run(
        self, sql: str, *, limits: QueryLimits | None = None, cancellation: Cancellation | None = None
    ) -> QueryResult:
        """Count, then run."""
        with self._count_lock:
            self._counts[sql] += 1
            self._now += 1
            self._most = max(self._most, self._now)
        try:
            if "slow" in sql:
                time.sleep(0.2)
            return super().run(sql, limits=limits, cancellation=cancellation)
        finally:
            with self._count_lock:
                self._now -= 1


def test_results_keep_the_order_of_the_data(shop: Path) -> None:
    slow = (
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 300000) SELECT max(n) - 300000 FROM r"
    )
    data = rows_of((slow, "SELECT 0"), *((f"SELECT {i}", f"SELECT {i % 3}") for i in range(60)))
    report = evaluate(data, ExecutionAccuracy(shop), concurrency=4, progress=False)
    assert values(report) == [1.0, *(float(i < 3) for i in range(60))]
    assert [sample.id for sample in report.samples] == [str(i) for i in range(61)]


def test_groups_by_several_keys() -> None:
    data = rows_of((ONE, ONE), (TWO, ONE), (ONE, ONE), level=["easy", "easy", "hard"], db_id=["a", "b", "a"])
    report = evaluate(data, ExecutionAccuracy(), by=("level", "db_id"), progress=False)
    assert [(row.group, row.item_count, row.mean) for row in report.summary()] == [
        ({}, 3, 2 / 3),
        ({"level": "easy", "db_id": "a"}, 1, 1.0),
        ({"level": "easy", "db_id": "b"}, 1, 0.0),
        ({"level": "hard", "db_id": "a"}, 1, 1.0),
    ]


def test_items_without_a_key_are_a_group() -> None:
    data = [{"response": ONE, "reference": ONE, "level": "easy"}, {"response": TWO, "reference": ONE}]
    report = evaluate(data, ExecutionAccuracy(), by="level", progress=False)
    assert [row.group for row in report.summary()] == [{}, {"level": "easy"}, {"level": "None"}]


@pytest.mark.parametrize(
    ("data", "metrics", "options", "message"),
    [
        pytest.param(
            rows_of((ONE, ONE), level=["x"]), "execution_accuracy", {"by": "levle"}, "did you mean 'level'", id="key"
        ),
        pytest.param([], "execution_accuracy", {}, "the data set is empty", id="no-data"),
        pytest.param(rows_of((ONE, ONE)), [], {}, "at least one metric", id="no-metric"),
        pytest.param(
            rows_of((ONE, ONE)), "execution_acuracy", {}, "did you mean 'execution_accuracy'", id="metric-name"
        ),
        pytest.param(rows_of((ONE, ONE)), ExecutionAccuracy, {}, "a metric", id="metric-class"),
        pytest.param(rows_of((ONE, ONE)), [7], {}, "a metric or its name", id="metric-number"),
        pytest.param({"response": ONE}, "execution_accuracy", {}, "a list of dicts", id="one-dict"),
        pytest.param(7, "execution_accuracy", {}, "a list of dicts", id="number"),
        pytest.param([7], "execution_accuracy", {}, "Expected item 0", id="item"),
        pytest.param("none.jsonl", "execution_accuracy", {}, r"none\.jsonl", id="missing-file"),
        pytest.param(rows_of((ONE, ONE)), "execution_accuracy", {"concurrency": 0}, "above 0", id="concurrency"),
        pytest.param(rows_of(("SELECT 1", "SELECT 1")), "execution_accuracy", {}, "no database", id="no-database"),
        pytest.param([{"id": 1}, {"id": 1}], "execution_accuracy", {}, "'1' occurs more than once", id="doubled-id"),
        pytest.param([{"metadata": 5}], "execution_accuracy", {}, "metadata", id="metadata"),
    ],
)
def test_wrong_use_names_the_way_out(data: Any, metrics: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        evaluate(data, metrics, progress=False, **options)


def test_a_data_frame(shop: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame(
        {
            "id": [7, 8, 9],
            "response": ["SELECT 1", None, "SELECT 2"],
            "reference": "SELECT 1",
            "level": ["a", "b", None],
        }
    )
    report = evaluate(frame, ExecutionAccuracy(shop), progress=False)
    assert [sample.id for sample in report.samples] == ["7", "8", "9"]
    assert statuses(report) == ["ok", "missing", "ok"]
    assert report.samples[2].metadata == {"level": None}


def test_a_path(tmp_path: Path, shop: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps({"response": "SELECT 1", "gold": "SELECT 1"}))
    assert values(evaluate(str(path), "execution_accuracy", database=shop, progress=False)) == [1.0]
    assert values(evaluate(path, "execution_accuracy", database=connect(shop), progress=False)) == [1.0]


def test_a_generator_of_items() -> None:
    report = evaluate(({"response": ONE, "reference": ONE} for _ in range(3)), ExecutionAccuracy(), progress=False)
    assert values(report) == [1.0, 1.0, 1.0]


def test_gold_errors_are_counted_apart(shop: Path) -> None:
    data = rows_of(
        ("SELECT 1", "SELECT 1"), ("SELECT 1", "SELECT nope"), ("SELECT nope", "SELECT nope"), ("SELEC", "SELECT 1")
    )
    report = evaluate(data, ExecutionAccuracy(shop), progress=False)
    row = report.summary()[0]
    assert statuses(report) == ["ok", "gold_error", "gold_error", "pred_error"]
    assert (row.item_count, row.judged_count, row.mean, row.strict_mean) == (4, 2, 0.5, 0.25)
    assert row.status_counts == {"gold_error": 2, "ok": 1, "pred_error": 1}


@pytest.mark.parametrize("response", [None, "", "  \n", 0, float("nan")])
def test_missing_predictions_count_as_wrong(shop: Path, response: Any) -> None:
    report = evaluate(rows_of((response, "SELECT 1")), ExecutionAccuracy(shop), progress=False)
    assert (values(report), statuses(report)) == ([0.0], ["missing"])


def test_missing_golds_are_not_judged(shop: Path) -> None:
    report = evaluate(rows_of(("SELECT 1", None), ("SELECT 1", "")), ExecutionAccuracy(shop), progress=False)
    assert values(report) == [None, None]
    assert statuses(report)[0] == "missing"


def test_empty_passes_are_counted(shop: Path) -> None:
    data = rows_of(("SELECT x FROM t WHERE 0", "SELECT x FROM t WHERE 1 = 0"), ("SELECT 1", "SELECT 1"))
    row = evaluate(data, ExecutionAccuracy(shop), progress=False).summary()[0]
    assert (row.mean, row.empty_pass_count, row.non_empty_mean) == (1.0, 1, 0.5)


def test_one_missing_database_is_noted_and_the_rest_goes_on(shop: Path) -> None:
    data = rows_of(("SELECT 1", "SELECT 1"), ("SELECT 1", "SELECT 1"), db_id=["shop", "bank"])
    metrics = [ExecutionAccuracy(DatabaseCatalog(f"{shop.parent}/{{db_id}}.sqlite"))]
    report = evaluate(data, metrics, progress=False)
    assert (values(report), statuses(report)) == ([1.0, None], ["ok", "database_error"])
    assert len(report.notes) == 1
    assert "'bank'" in report.notes[0]
    assert "bank.sqlite" in report.results["execution_accuracy"][1].reason
    assert not (shop.parent / "bank.sqlite").exists()


def test_a_missing_database_is_noted_once_for_several_metrics(shop: Path) -> None:
    data = rows_of(("SELECT 1", "SELECT 1"), ("SELECT 1", "SELECT 1"), db_id=["shop", "bank"])
    catalog = DatabaseCatalog(f"{shop.parent}/{{db_id}}.sqlite")
    report = evaluate(data, [ExecutionAccuracy(catalog), ExecutionAccuracy(catalog, "bird")], progress=False)
    assert len(report.notes) == 1


def test_f70_all_missing_raises_before_any_work(tmp_path: Path) -> None:
    data = rows_of(("SELECT 1", "SELECT 1"), ("SELECT 1", "SELECT 1"), db_id=["shop", "bank"])
    with pytest.raises(ConfigurationError, match=r"(?s)No database can be opened.*bank\.sqlite.*shop\.sqlite"):
        evaluate(data, ExecutionAccuracy(f"{tmp_path}/{{db_id}}.sqlite"), progress=False)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_db_id_is_marked(shop: Path) -> None:
    data = rows_of(
        ("SELECT 1", "SELECT 1"), ("SELECT 1", "SELECT 1"), ("SELECT 1", "SELECT 1"), db_id=["shop", "shp", None]
    )
    report = evaluate(data, ExecutionAccuracy({"shop": shop}), progress=False)
    assert values(report) == [1.0, None, None]
    assert "did you mean 'shop'" in report.results["execution_accuracy"][1].reason


def test_an_item_may_bring_its_own_database(shop: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    connection = sqlite3.connect(other)
    connection.executescript("CREATE TABLE t(x); INSERT INTO t VALUES (9)")
    connection.close()
    data = rows_of(
        ("SELECT max(x) FROM t", "SELECT 9"), ("SELECT max(x) FROM t", "SELECT 2"), database=[str(other), None]
    )
    assert values(evaluate(data, "execution_accuracy", database=shop, progress=False)) == [1.0, 1.0]


@pytest.mark.parametrize("concurrency", [1, 4])
def test_repeated_queries_run_once(shop: Path, concurrency: int) -> None:
    with CountingDatabase(str(shop)) as database:
        data = rows_of(*(("SELECT 1 AS slow", "SELECT 1") for _ in range(8)))
        metrics = [
            ExecutionAccuracy(database),
            ExecutionAccuracy(database, "bird"),
            ExecutionAccuracy(database, "test_suite"),
        ]
        report = evaluate(data, metrics, concurrency=concurrency, progress=False)
        assert database._counts == {"SELECT 1 AS slow": 1, "SELECT 1": 1}
        assert values(report, "execution_accuracy[default]") == [1.0] * 8


def test_several_policies_at_once(shop: Path) -> None:
    metrics = [ExecutionAccuracy(shop), ExecutionAccuracy(shop, "bird"), ExecutionAccuracy(shop, abs_tol=1)]
    report = evaluate(rows_of(("SELECT x FROM t", "SELECT DISTINCT x FROM t")), metrics, progress=False)
    assert {name: results[0].value for name, results in report.results.items()} == {
        "execution_accuracy[default]": 0.0,
        "execution_accuracy[bird]": 1.0,
        "execution_accuracy[default+abs_tol]": 0.0,
    }


def test_metrics_of_one_name_and_policy_stay_apart() -> None:
    report = evaluate(
        rows_of((ONE, ONE)), [ExecutionAccuracy(), ExecutionAccuracy(), ExecutionAccuracy()], progress=False
    )
    assert len(report.results) == 3


def test_concurrency_is_bounded_and_used(shop: Path) -> None:
    with CountingDatabase(str(shop)) as database:
        data = rows_of(*((f"SELECT {i} AS slow", f"SELECT {i}") for i in range(6)))
        evaluate(data, ExecutionAccuracy(database), concurrency=3, progress=False)
        assert 2 <= database._most <= 3


async def test_inside_a_running_loop(shop: Path) -> None:
    data = rows_of(("SELECT 1", "SELECT 1"))
    assert values(evaluate(data, ExecutionAccuracy(shop), progress=False)) == [1.0]
    assert values(await aevaluate(data, ExecutionAccuracy(shop), progress=False)) == [1.0]


def test_under_asyncio_run(shop: Path) -> None:
    data = rows_of(("SELECT 1", "SELECT 1"), ("SELECT 1", "SELECT 2"))
    report = asyncio.run(aevaluate(data, ExecutionAccuracy(shop), progress=False))
    assert values(report) == [1.0, 0.0]


async def test_the_loop_stays_free_while_queries_run(shop: Path) -> None:
    with CountingDatabase(str(shop)) as database:
        task = asyncio.create_task(
            aevaluate(rows_of(("SELECT 1 AS slow", "SELECT 1")), ExecutionAccuracy(database), progress=False)
        )
        ticks = 0
        while not task.done():
            await asyncio.sleep(0.01)
            ticks += 1
        assert values(task.result()) == [1.0]
        assert ticks >= 5


def test_several_evaluations_at_once(shop: Path) -> None:
    async def both() -> list[Any]:
        data = rows_of(("SELECT 1", "SELECT 1"), ("SELECT 1", "SELECT 2"))
        metric = ExecutionAccuracy(shop)
        return list(await asyncio.gather(*(aevaluate(data, metric, progress=False) for _ in range(5))))

    assert [values(report) for report in asyncio.run(both())] == [[1.0, 0.0]] * 5


def test_a_synchronous_call_inside_a_synchronous_call() -> None:
    async def outer() -> list[float | None]:
        return values(evaluate(rows_of((ONE, ONE)), ExecutionAccuracy(), progress=False))

    assert run_sync(outer()) == [1.0]


def test_an_error_of_a_synchronous_call_inside_another_is_raised() -> None:
    async def outer() -> Any:
        return evaluate([], ExecutionAccuracy(), progress=False)

    with pytest.raises(ConfigurationError, match="the data set is empty"):
        run_sync(outer())


def test_samples_of_the_caller_are_not_changed() -> None:
    samples = [Sample(response=ONE, reference=ONE), Sample(response=TWO, reference=ONE)]
    assert values(evaluate(samples[1:], ExecutionAccuracy(), progress=False)) == [0.0]
    assert values(evaluate(samples, ExecutionAccuracy(), progress=False)) == [1.0, 0.0]


def test_a_faulty_row_does_not_lose_the_batch(shop: Path) -> None:
    data = rows_of(
        ("SELECT 1", "SELECT 1"), ({"a": 1}, "SELECT 1"), ("SELECT 1", 5), ("\0", "SELECT 1"), ("\ud800", "SELECT 1")
    )
    report = evaluate(data, ExecutionAccuracy(shop), progress=False)
    assert statuses(report) == ["ok", "pred_error", "gold_error", "pred_error", "pred_error"]
