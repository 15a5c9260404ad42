"""The command line: statuses, messages and files."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sqlmetrics.cli import app

RUNNER = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"})
OK, GATE_NOT_MET, WRONG_USE, NOT_JUDGED = range(4)


def run(*arguments: str | Path) -> Result:
    """Run the command line in this process."""
    return RUNNER.invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE t(x); INSERT INTO t VALUES (1), (2), (2)")
    connection.close()
    return path


@pytest.fixture
def golds(tmp_path: Path) -> Path:
    path = tmp_path / "golds.jsonl"
    rows = [
        {"id": "a", "db_id": "shop", "level": "easy", "reference": "SELECT 1", "response": "SELECT 1"},
        {"id": "b", "db_id": "shop", "level": "hard", "reference": "SELECT x FROM t", "response": "SELECT 2"},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.mark.parametrize(
    ("gold", "prediction", "more", "status", "part"),
    [
        pytest.param("SELECT 1", "SELECT 1.0", [], OK, "execution_accuracy  1  (ok)", id="right"),
        pytest.param("SELECT 1", "SELECT 2", [], OK, "only in the gold (1): (1)", id="wrong-is-done-too"),
        pytest.param("SELECT 1", "SELECT 2", ["--fail-under", "1"], GATE_NOT_MET, "execution_accuracy  0", id="gate"),
        pytest.param("SELECT 1", "SELECT 1", ["--fail-under", "1"], OK, "execution_accuracy  1", id="gate-met"),
        pytest.param("SELECT nope", "SELECT 1", [], NOT_JUDGED, "not judged  (gold_error)", id="gold-error"),
        pytest.param("SELECT nope", "SELECT 1", ["--fail-under", "1"], NOT_JUDGED, "gold_error", id="gate-not-judged"),
        pytest.param("SELECT 1", "SELECT nope", [], OK, "pred_error", id="prediction-error"),
        pytest.param("SELECT 1", "DROP TABLE t", [], OK, "rejected", id="write"),
        pytest.param(
            "SELECT DISTINCT x FROM t", "SELECT x FROM t", ["--policy", "bird"], OK, "accuracy  1", id="policy"
        ),
        pytest.param("SELECT 1", "SELECT 1.5", ["-o", "abs_tol=0.5"], OK, "accuracy  1", id="option"),
        pytest.param(
            "SELECT x FROM t", "SELECT x FROM t", ["--max-rows", "2"], NOT_JUDGED, "max_rows=2", id="max-rows"
        ),
    ],
)
def test_score(shop: Path, gold: str, prediction: str, more: list[str], status: int, part: str) -> None:
    result = run("score", "-d", shop, "--gold", gold, "--prediction", prediction, *more)
    assert result.exit_code == status
    assert part in result.output


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        pytest.param(["-d", "none.sqlite"], ["none.sqlite", "check the path"], id="missing-file"),
        pytest.param([], ["There is no database", "database"], id="no-database"),
        pytest.param(["-d", "SHOP", "--policy", "brid"], ["'brid'", "did you mean 'bird'"], id="policy"),
        pytest.param(
            ["-d", "SHOP", "-o", "abs_tolerance=1"], ["'abs_tolerance'", "did you mean 'abs_tol'"], id="option"
        ),
        pytest.param(["-d", "SHOP", "-o", "rows=sets"], ["'sets'", "'set'"], id="option-value"),
        pytest.param(["-d", "SHOP", "-o", "abs_tol"], ["name=value", "'abs_tol'"], id="option-without-value"),
        pytest.param(["-d", "SHOP", "-o", "abs_tol=NaN"], ["abs_tol", "finite"], id="option-nan"),
        pytest.param(["-d", "SHOP", "-o", "policy=bird"], ["policy"], id="option-that-is-an-argument"),
        pytest.param(["-d", "SHOP", "-o", "database=x"], ["database"], id="option-that-is-the-database"),
        pytest.param(["-d", "SHOP", "-o", "name=mine"], ["'name'"], id="option-name"),
        pytest.param(["-d", "SHOP", "--timeout", "0"], ["timeout_s"], id="timeout"),
        pytest.param(["-d", "SHOP", "--fail-under", "high"], ["--fail-under", "valid number"], id="gate-is-no-number"),
        pytest.param(["-d", "http://x/y"], ["http://"], id="web-address"),
        pytest.param(["-d", "SHOP", "--gold", "@none.sql"], ["none.sql", "No such file"], id="missing-query-file"),
        pytest.param(["-d", "{db_id}.sqlite"], ["db_id"], id="pattern-without-db-id"),
        pytest.param(["-d", "SHOP", "--polcy", "bird"], ["--polcy"], id="unknown-option"),
    ],
)
def test_wrong_use_names_input_and_way_out(shop: Path, arguments: list[str], parts: list[str]) -> None:
    given = [str(shop) if argument == "SHOP" else argument for argument in arguments]
    result = run("score", "--gold", "SELECT 1", "--prediction", "SELECT 1", *given)
    assert result.exit_code == WRONG_USE
    assert [part for part in parts if part not in result.output] == []
    assert "Traceback" not in result.output


def test_nothing_is_created_for_a_missing_database(tmp_path: Path) -> None:
    run("score", "-d", tmp_path / "none.sqlite", "--gold", "SELECT 1", "--prediction", "SELECT 1")
    assert list(tmp_path.iterdir()) == []


def test_queries_from_files(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "gold.sql").write_bytes(b"\xef\xbb\xbfSELECT 1 -- one\r\n")
    result = run("score", "-d", shop, "--gold", f"@{tmp_path / 'gold.sql'}", "--prediction", "SELECT 1")
    assert (result.exit_code, "accuracy  1" in result.output) == (OK, True)


def test_json(shop: Path) -> None:
    result = run("score", "-d", shop, "--gold", "SELECT 1", "--prediction", "SELECT 'a\x1b[2J'", "--json")
    found = json.loads(result.stdout)
    assert (found["value"], found["status"], found["details"]["policy"]) == (0.0, "ok", "default")
    assert "\x1b" not in result.stdout


def test_evaluate(shop: Path, golds: Path, tmp_path: Path) -> None:
    result = run("evaluate", golds, "-d", shop, "--by", "level", "--output", tmp_path / "out")
    assert result.exit_code == OK
    assert [word for word in ("0.500", "easy", "1.000", "hard", "0.000") if word not in result.stdout] == []
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "results.csv",
        "results.jsonl",
        "summary.json",
    ]


@pytest.mark.parametrize(("gate", "status"), [("0.5", OK), ("0.51", GATE_NOT_MET)])
def test_evaluate_gate(shop: Path, golds: Path, gate: str, status: int) -> None:
    assert run("evaluate", golds, "-d", shop, "--fail-under", gate).exit_code == status


def test_evaluate_predictions(shop: Path, golds: Path, tmp_path: Path) -> None:
    (tmp_path / "predict.json").write_text(json.dumps({"a": "SELECT 1\t----- bird -----\tbank", "z": "SELECT 2"}))
    result = run("evaluate", golds, "-p", tmp_path / "predict.json", "-d", f"{shop.parent}/{{db_id}}.sqlite")
    assert result.exit_code == OK
    assert "missing 1" in result.stdout
    notes = [
        "Predictions without a gold, left out: 1",
        "Golds without a prediction, which counts as missing: 1",
        "names database 'bank', the gold 'shop'",
    ]
    assert [note for note in notes if note not in result.stderr] == []


def test_evaluate_with_items_that_cannot_be_judged(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "g.jsonl").write_text('{"reference": "SELECT nope", "response": "SELECT 1"}')
    result = run("evaluate", tmp_path / "g.jsonl", "-d", shop, "--fail-under", "0.5")
    assert result.exit_code == NOT_JUDGED
    assert "Not judged: 1" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        pytest.param(["none.jsonl"], ["none.jsonl", "No such file"], id="missing-data"),
        pytest.param(["GOLDS", "-p", "none.json"], ["none.json"], id="missing-predictions"),
        pytest.param(["GOLDS", "--by", "levle"], ["'levle'", "did you mean 'level'"], id="key"),
        pytest.param(["GOLDS", "-m", "execution_acuracy"], ["did you mean 'execution_accuracy'"], id="metric"),
        pytest.param(["GOLDS", "--policy", "strct"], ["did you mean 'strict'"], id="policy"),
        pytest.param(["GOLDS", "--id-key", "key"], ["'key'", "item 1"], id="id-key"),
        pytest.param(["GOLDS", "--concurrency", "0"], ["concurrency"], id="concurrency"),
        pytest.param(["GOLDS", "-d", "none.sqlite"], ["none.sqlite", "No database can be opened"], id="database"),
        pytest.param(["GOLDS", "--output", "GOLDS/out"], ["cannot be written"], id="output"),
        pytest.param(["GOLDS", "-o", "policy=bird"], ["policy"], id="option-that-is-an-argument"),
    ],
)
def test_evaluate_used_wrongly(shop: Path, golds: Path, arguments: list[str], parts: list[str]) -> None:
    given = [argument.replace("GOLDS", str(golds)) for argument in arguments]
    result = run("evaluate", "-d", shop, *given)
    assert result.exit_code == WRONG_USE
    assert [part for part in parts if part not in " ".join(result.output.split())] == []


def test_metrics_are_listed() -> None:
    result = run("metrics")
    assert result.exit_code == OK
    assert "execution_accuracy" in result.stdout


@pytest.mark.parametrize("command", ["score", "evaluate", "demo", "metrics"])
def test_help_has_an_example(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == OK
    assert f"sqlmetrics {command}" in result.stdout


def test_demo_keeps_its_files(tmp_path: Path) -> None:
    result = run("demo", "--output", tmp_path / "demo")
    assert result.exit_code == OK
    assert (tmp_path / "demo" / "model_a" / "results.jsonl").is_file()
    assert (tmp_path / "demo" / "ferry.sqlite").is_file()


def python_m(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `python -m sqlmetrics` in a process of its own."""
    command = [sys.executable, "-W", "error::ResourceWarning", "-m", "sqlmetrics", *map(str, arguments)]
    root = str(Path(__file__).parents[1])
    environment = {"PYTHONPATH": root, "PYTHONIOENCODING": "utf-8", "COLUMNS": "120"}
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", cwd=cwd, env=environment, timeout=120, check=False
    )


def test_demo_in_a_process_of_its_own(tmp_path: Path) -> None:
    done = python_m("demo", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (OK, "")
    assert "model_a" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_score_in_a_process_of_its_own(shop: Path) -> None:
    arguments = ["score", "-d", "shop.sqlite", "--gold", "SELECT count(*) FROM t", "--prediction", "SELECT 3", "--json"]
    done = python_m(*arguments, cwd=shop.parent)
    assert (done.returncode, done.stderr) == (OK, "")
    assert json.loads(done.stdout)["value"] == 1.0


def test_an_error_in_a_process_of_its_own(tmp_path: Path) -> None:
    done = python_m("score", "-d", "none.sqlite", "--gold", "SELECT 1", "--prediction", "SELECT 1", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (WRONG_USE, "")
    assert done.stderr.startswith("Error: ")
