"""Faults met by people who do this job, each with the right answer: execution, comparison, safety, dialects.

`cases/field_cases.jsonl` holds the cases. What a case says beyond its scores (`must`) is checked by the
function that stands under the case's id in `MUSTS`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import resource
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from sqlmetrics import ExecutionAccuracy, MetricResult, connect, evaluate
from sqlmetrics.sql.replies import extract_sql
from tests.field_databases import field_database

CASES = [json.loads(line) for line in (Path(__file__).parent / "cases" / "field_cases.jsonl").read_text().splitlines()]
STATUSES = {"timeout": "pred_timeout"}
SETTINGS: dict[str, dict[str, Any]] = {
    "execution_accuracy": {},
    "execution_accuracy_strict_column_order": {"columns": "position"},
    "execution_accuracy_with_abs_tol_0.01": {"abs_tol": 0.01},
    "execution_accuracy_ignore_order": {"order": "ignore"},
    "execution_accuracy_tie_aware": {"ties": "accept"},
    "execution_accuracy_set_semantics": {"rows": "set"},
}
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT COUNT(*) FROM c"


def engine_cases() -> list[Any]:
    """Every case that holds a pair of queries, once an engine."""
    return [
        pytest.param(case, engine, id=f"{case['id']}-{engine}")
        for case in CASES
        if case["gold_sql"] and case["pred_sql"]
        for engine in [case["options"]["engine"], *case["options"].get("also_engines", [])]
    ]


@pytest.fixture
def case_database(case: dict[str, Any], engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    """The target of a case's database."""
    with field_database(engine, case["schema_sql"], case["data_sql"], tmp_path, request.getfixturevalue) as target:
        yield target


def limits_of(case: dict[str, Any]) -> dict[str, Any]:
    """The limits that a case asks for."""
    return {name: case["options"][name] for name in ("timeout_s", "max_rows") if name in case["options"]}


@pytest.mark.parametrize(("case", "engine"), engine_cases())
def test_field_case(
    case: dict[str, Any], engine: str, case_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores and status are as expected under every setting, and what the case says beyond that holds."""
    monkeypatch.chdir(tmp_path)
    expected = case["expected"]
    before = _fingerprint(tmp_path)
    with connect(case_database, **limits_of(case)) as database:
        result = ExecutionAccuracy(database).score(response=case["pred_sql"], reference=case["gold_sql"])
        for name, value in expected.items():
            if name in SETTINGS:
                metric = ExecutionAccuracy(database, **SETTINGS[name])
                scored = metric.score(response=case["pred_sql"], reference=case["gold_sql"])
                assert scored.value == value, f"{name}: {scored.reason}"
        if "status" in expected:
            assert result.status == STATUSES.get(expected["status"], expected["status"]), result.reason
        assert result.reason
        follow_up = MUSTS.get(case["id"])
        if follow_up:
            follow_up(result, database, case)
        # Whatever came before, the database serves the next query and its files are as they were.
        gold_again = ExecutionAccuracy(database).score(response="SELECT 1", reference="SELECT 1")
        assert gold_again.value == 1.0, gold_again.reason
    assert _fingerprint(tmp_path) == before


def _fingerprint(directory: Path) -> dict[str, str]:
    """Names and checksums of all files below a directory."""
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in directory.rglob("*") if path.is_file()}


# --- What cases say beyond their scores --------------------------------------------------------------------------


def must_name_tolerance(result: MetricResult, database: Any, case: dict[str, Any]) -> None:
    assert (result.details.rel_tol, result.details.abs_tol) == (1e-9, 0.0)  # type: ignore[union-attr]


def must_keep_daytime_apart(result: MetricResult, database: Any, case: dict[str, Any]) -> None:
    later = "SELECT CAST(d AS TIMESTAMP) + INTERVAL 10 HOUR AS d FROM visit"
    assert ExecutionAccuracy(database).score(response=later, reference=case["gold_sql"]).value == 0.0


def must_say_both_empty(result: MetricResult, database: Any, case: dict[str, Any]) -> None:
    assert "both_empty" in result.details.reason_codes  # type: ignore[union-attr]
    assert result.details.gold_empty is True  # type: ignore[union-attr]


def must_count_empty_passes(result: MetricResult, database: Any, case: dict[str, Any]) -> None:
    must_say_both_empty(result, database, case)
    rows = [{"response": case["pred_sql"], "reference": case["gold_sql"]}]
    summary = evaluate(rows, ExecutionAccuracy(database), progress=False).summary()[0]
    assert (summary.empty_pass_count, summary.mean, summary.non_empty_mean) == (1, 1.0, 0.0)


def must_name_row_order(result: MetricResult, database: Any, case: dict[str, Any]) -> None:
    assert result.details.reason_codes[0] == "row_order"  # type: ignore[union-attr]
    assert "order" in result.reason


def must_flag_cut_tie(result: MetricResult, database: Any, case: dict[str, Any]) -> None:
    assert result.details.gold_cuts_tie is True  # type: ignore[union-attr]
    assert "tie" in result.reason


def must_cap_while_fetching(result: MetricResult, database: Any, case: dict[str, Any]) -> None:
    small = database.with_limits(max_rows=1)
    capped = small.run(case["pred_sql"])
    assert (len(capped.table.rows), capped.truncated) == (1, True)
    small.close()


def must_note_undecodable(result: MetricResult, database: Any, case: dict[str, Any]) -> None:
    assert result.details.undecodable is True  # type: ignore[union-attr]


def must_name_cap(result: MetricResult, database: Any, case: dict[str, Any]) -> None:
    assert result.status == "result_too_large"
    assert "max_rows=1,000" in result.reason


def must_refuse_kin(*kin: str) -> Callable[[MetricResult, Any, dict[str, Any]], None]:
    """Other texts that must be refused as well."""

    def check(result: MetricResult, database: Any, case: dict[str, Any]) -> None:
        for sql in kin:
            refused = ExecutionAccuracy(database).score(response=sql, reference=case["gold_sql"])
            assert (refused.value, refused.status) == (0.0, "rejected"), f"{sql}: {refused.reason}"

    return check


def must_keep_ships(result: MetricResult, database: Any, case: dict[str, Any]) -> None:
    assert database.run("SELECT count(*) FROM ship").table.rows == [(2,)]


def must_keep_ships_and_refuse(*kin: str) -> Callable[[MetricResult, Any, dict[str, Any]], None]:
    """Other texts that must be refused, and no row may be gone."""

    def check(result: MetricResult, database: Any, case: dict[str, Any]) -> None:
        must_refuse_kin(*kin)(result, database, case)
        must_keep_ships(result, database, case)

    return check


MUSTS: dict[str, Callable[[MetricResult, Any, dict[str, Any]], None]] = {
    "F11": must_name_tolerance,
    "F12": must_keep_daytime_apart,
    "F15": must_say_both_empty,
    "F18": must_count_empty_passes,
    "F19": must_name_row_order,
    "F21": must_flag_cut_tie,
    "F28": must_cap_while_fetching,
    "F29": must_note_undecodable,
    "F37": must_name_cap,
    "F38": must_keep_ships_and_refuse("UPDATE ship SET name = 'x'", "DROP TABLE ship"),
    "F39": must_keep_ships_and_refuse(
        "SET TRANSACTION READ WRITE",
        "SELECT 1; COMMIT; DELETE FROM ship; SELECT 1",
        "SELECT $$;$$; COMMIT; DELETE FROM ship",
    ),
    "F40": must_refuse_kin("SELECT content FROM read_text('case.txt')", "SET enable_external_access = true"),
    "F41": must_refuse_kin(
        "PRAGMA writable_schema = ON", "SELECT load_extension('x')", "VACUUM INTO 'copy.db'", "VACUUM INTO'copy.db'"
    ),
    "F42": must_keep_ships_and_refuse("EXPLAIN ANALYZE DELETE FROM ship", "SELECT id INTO newtable FROM ship"),
    "F43": must_refuse_kin(
        "CREATE TABLE x(i int)", "/*!50000 DELETE FROM a */", "SELECT x /*!50000 INTO OUTFILE 'leak.txt' */ FROM a"
    ),
}


# --- Cases about batches, callers and resources ------------------------------------------------------------------


def case_of(identifier: str) -> dict[str, Any]:
    """A case by its id."""
    return next(case for case in CASES if case["id"] == identifier)


@pytest.fixture
def sqlite_case(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    """Builds a case's SQLite database."""

    def build(identifier: str, engine: str = "sqlite") -> str:
        case = case_of(identifier)
        manager = field_database(engine, case["schema_sql"], case["data_sql"], tmp_path, request.getfixturevalue)
        target = manager.__enter__()
        request.addfinalizer(lambda: manager.__exit__(None, None, None))
        return target

    return build


async def test_f31_timeout_leaves_the_loop_and_the_cpu_alone(sqlite_case: Callable[..., str]) -> None:
    metric = ExecutionAccuracy(connect(sqlite_case("F31"), timeout_s=1.0))
    pauses: list[float] = []

    async def ticker() -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.05)
            pauses.append(time.monotonic() - last)
            last = time.monotonic()

    ticking = asyncio.create_task(ticker())
    started = time.monotonic()
    result = await metric.ascore(response=ENDLESS, reference="SELECT COUNT(*) FROM a")
    elapsed = time.monotonic() - started
    ticking.cancel()
    assert (result.value, result.status) == (0.0, "pred_timeout")
    assert elapsed < 2.0
    assert max(pauses) < 0.2
    used = time.process_time()
    await asyncio.sleep(0.5)
    assert time.process_time() - used < 0.1


def test_f33_gold_timeout_is_not_a_wrong_answer(sqlite_case: Callable[..., str]) -> None:
    database = connect(sqlite_case("F33"), timeout_s=0.3)
    rows = [{"response": "SELECT COUNT(*) FROM a", "reference": ENDLESS}] * 2
    summary = evaluate(rows, ExecutionAccuracy(database), progress=False).summary()[0]
    assert (summary.mean, summary.judged_count, summary.status_counts) == (None, 0, {"gold_timeout": 2})


def test_f33_golds_may_have_more_time(sqlite_case: Callable[..., str]) -> None:
    bounded = ENDLESS.replace("FROM c)", "FROM c WHERE x < 3000000)")
    database = connect(sqlite_case("F33"), timeout_s=0.05)
    result = ExecutionAccuracy(database, gold_timeout_s=30).score(response="SELECT 3000000", reference=bounded)
    assert result.value == 1.0, result.reason


def test_f34_stuck_items_do_not_starve_the_others(sqlite_case: Callable[..., str]) -> None:
    case = case_of("F34")
    metric = ExecutionAccuracy(connect(sqlite_case("F34"), timeout_s=0.5))
    stuck = [{"response": f"{ENDLESS} /* {n} */", "reference": "SELECT 1"} for n in range(4)]
    good = [{"response": "SELECT 1", "reference": "SELECT 1"}] * 6
    started = time.monotonic()
    results = metric.batch_score([*stuck, *good], concurrency=4)
    assert time.monotonic() - started < 5
    found = ["timeout" if result.status == "pred_timeout" else result.value for result in results]
    assert found == case["expected"]["per_item"]


def _score_f35(path: str) -> tuple[float | None, str]:
    """Score a right pair, and an endless one, wherever this is called from."""
    metric = ExecutionAccuracy(connect(path, timeout_s=1.0))
    right = metric.score(response="SELECT x FROM a", reference="SELECT x FROM a")
    return right.value, metric.score(response=ENDLESS, reference="SELECT x FROM a").status.value


def test_f35_same_from_main_thread_worker_thread_and_worker_process(sqlite_case: Callable[..., str]) -> None:
    path = sqlite_case("F35")
    expected = (1.0, "pred_timeout")
    assert _score_f35(path) == expected
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(_score_f35, path).result() == expected
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        assert processes.submit(_score_f35, path).result() == expected


def test_f36_a_cross_join_ends_in_time_and_memory(sqlite_case: Callable[..., str]) -> None:
    case = case_of("F36")
    metric = ExecutionAccuracy(connect(sqlite_case("F36"), timeout_s=10))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.monotonic()
    result = metric.score(response=case["pred_sql"], reference=case["gold_sql"])
    assert (result.value, result.status) == (0.0, "result_too_large")
    assert time.monotonic() - started < 10
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < 500


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_f44_double_quotes_are_names_elsewhere(engine: str, sqlite_case: Callable[..., str]) -> None:
    case = case_of("F44")
    with connect(sqlite_case("F44", engine)) as database:
        result = ExecutionAccuracy(database).score(response=case["pred_sql"], reference=case["gold_sql"])
    assert (result.value, result.status) == (0.0, "pred_error")


def test_f55_sql_in_a_reply(sqlite_case: Callable[..., str]) -> None:
    case = case_of("F55")
    wanted = " ".join(case["expected"]["extracted_sql"].split())
    assert " ".join(extract_sql(case["pred_sql"]).split()) == wanted
    for reply in (case["pred_sql"].replace("```SQL", "```sql"), wanted, f"SQLQuery: {wanted}"):
        assert " ".join(extract_sql(reply).split()) == wanted


async def test_f58_results_belong_to_their_samples(sqlite_case: Callable[..., str]) -> None:
    metric = ExecutionAccuracy(sqlite_case("F58"))
    wrong_or_right = ["SELECT x FROM a", "SELECT 9 AS x"] * 4
    results = await asyncio.gather(
        *(metric.ascore(response=sql, reference="SELECT x FROM a") for sql in wrong_or_right)
    )
    assert [result.value for result in results] == case_of("F58")["expected"]["per_item"]


def _score_f59(path: str) -> float | None:
    """Score a pair on a DuckDB file."""
    return ExecutionAccuracy(path).score(response="SELECT x FROM a", reference="SELECT x FROM a").value


def test_f59_one_duckdb_file_serves_tasks_and_processes(sqlite_case: Callable[..., str]) -> None:
    path = sqlite_case("F59", "duckdb")
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as processes:
        scores = list(processes.map(_score_f59, [path] * 4))
    rows = [{"response": f"SELECT x FROM a /* {n} */", "reference": "SELECT x FROM a"} for n in range(4)]
    scores += [result.value for result in ExecutionAccuracy(path).batch_score(rows, concurrency=4)]
    assert scores == [1.0] * 8


def test_f61_gold_missing_gold_failing_and_prediction_failing_differ(sqlite_case: Callable[..., str]) -> None:
    metric = ExecutionAccuracy(sqlite_case("F61"))
    good, bad = "SELECT x FROM a", "SELECT y FROM a"
    found = [
        (result.value, result.status.value)
        for result in metric.batch_score(
            [
                {"response": "SELECT z FROM a", "reference": bad},
                {"response": good, "reference": None},
                {"response": bad, "reference": good},
                {"response": None, "reference": good},
            ]
        )
    ]
    assert found == [(None, "gold_error"), (None, "missing"), (0.0, "pred_error"), (0.0, "missing")]


def test_f63_a_failed_query_does_not_poison_the_connection(sqlite_case: Callable[..., str]) -> None:
    case = case_of("F63")
    with connect(sqlite_case("F63", "postgres")) as database:
        metric = ExecutionAccuracy(database)
        sqls = [case["pred_sql"], "SELECT x FROM a", "SELECT x FROM a"]
        results = [metric.score(response=sql, reference=case["gold_sql"]) for sql in sqls]
    assert [result.status.value for result in results] == ["pred_error", "ok", "ok"]
    assert [result.value for result in results] == [0.0, 1.0, 1.0]


def test_no_thread_is_left_at_work(sqlite_case: Callable[..., str]) -> None:
    metric = ExecutionAccuracy(connect(sqlite_case("F31"), timeout_s=0.3))
    metric.batch_score([{"response": f"{ENDLESS} -- {n}", "reference": "SELECT 1"} for n in range(3)])
    time.sleep(0.2)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sqlmetrics-worker")]
