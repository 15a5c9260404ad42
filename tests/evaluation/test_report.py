"""The report: sums, DataFrames and files."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any, NoReturn

import pytest
from rich.console import Console

from sqlmetrics import EvaluationReport, ExecutionAccuracy, MetricResult, Sample, Table, evaluate
from sqlmetrics.errors import ConfigurationError
from sqlmetrics.evaluation.summary import summarise
from sqlmetrics.evaluation.terminal import result_line, summary_table
from sqlmetrics.results import Status

RIGHT = MetricResult(value=1.0, reason="equal")
WRONG = MetricResult(value=0.0, reason="values differ")
BROKEN = MetricResult(value=None, reason="the gold fails", status=Status.GOLD_ERROR)
HOSTILE = "a\ud800b\udcff\0\x1b[31m\n\u2028\"',😀"
FILES = ["results.csv", "results.jsonl", "summary.json"]


def report_of(*results: MetricResult, **fields: list[Any]) -> EvaluationReport:
    """A report of one metric, with the given fields of its samples."""
    samples = [
        Sample(**{"id": str(i), **{name: entries[i] for name, entries in fields.items()}}) for i in range(len(results))
    ]
    return EvaluationReport(samples, {"ex": list(results)})


def refuse(constant: str) -> NoReturn:
    """Refuse NaN and Infinity, which JSON does not have."""
    raise ValueError(f"{constant} is no JSON")


def saved(report: EvaluationReport, directory: Path) -> list[dict[str, Any]]:
    """Save a report and read its lines back strictly."""
    lines = (report.save(directory) / "results.jsonl").read_bytes().decode("utf-8").rstrip("\n").split("\n")
    return [json.loads(line, parse_constant=refuse) for line in lines]


def test_unjudged_items_are_counted_apart() -> None:
    row = report_of(RIGHT, WRONG, BROKEN, BROKEN).summary()[0]
    assert (row.item_count, row.judged_count, row.mean, row.strict_mean) == (4, 2, 0.5, 0.25)
    assert row.status_counts == {"ok": 2, "gold_error": 2}


def test_f60_failures_do_not_drop_out_of_the_strict_mean() -> None:
    row = report_of(RIGHT, *[BROKEN] * 9).summary()[0]
    assert (row.mean, row.strict_mean, row.judged_count, row.item_count) == (1.0, 0.1, 1, 10)


def test_nothing_judged_has_no_mean() -> None:
    row = report_of(BROKEN).summary()[0]
    assert (row.mean, row.strict_mean, row.non_empty_mean) == (None, 0.0, None)


def test_f62_groups_without_items_divide_by_nothing() -> None:
    assert summarise("ex", []) == []
    assert len(EvaluationReport([], {"ex": []}).summary()) <= 1


def test_summary_by_key() -> None:
    report = report_of(RIGHT, WRONG, metadata=[{"level": "easy"}, {"level": 2}], db_id=["a", "a"])
    assert [row.group for row in report.summary(by="level")] == [{}, {"level": "easy"}, {"level": "2"}]
    assert [row.group for row in report.summary(by=["db_id"])] == [{}, {"db_id": "a"}]
    with pytest.raises(ConfigurationError, match="did you mean 'level'"):
        report.summary(by="levle")


def test_a_summary_row_keeps_its_figures_whatever_the_key_is_called() -> None:
    report = report_of(RIGHT, WRONG, metadata=[{"mean": "x", "metric": "y"}] * 2)
    row = report.summary(by=["mean", "metric"]).to_dicts()[1]
    assert (row["metric"], row["mean"]) == ("ex", 0.5)


def test_to_pandas() -> None:
    frame = report_of(RIGHT, BROKEN, metadata=[{"level": "easy"}, {}]).to_pandas()
    assert list(frame["id"]) == ["0", "1"]
    assert frame["value"].isna().tolist() == [False, True]
    assert frame.loc[0, "level"] == "easy"
    assert frame["value"].mean() == 1.0


@pytest.mark.parametrize("key", ["value", "status", "reason", "id", "metric", "details"])
def test_metadata_never_overwrite_a_result(key: str) -> None:
    plain = report_of(RIGHT).to_pandas()
    frame = report_of(RIGHT, metadata=[{key: "from the data set"}]).to_pandas()
    assert frame[key].astype(str).tolist() == plain[key].astype(str).tolist()


def test_to_pandas_of_nothing() -> None:
    assert len(EvaluationReport([], {"ex": []}).to_pandas()) == 0


def test_files(tmp_path: Path) -> None:
    target = report_of(RIGHT, BROKEN, response=["SELECT 1", "SELECT 2"]).save(tmp_path / "a" / "b")
    assert sorted(path.name for path in target.iterdir()) == FILES
    with (target / "results.csv").open(encoding="utf-8", newline="") as file:
        assert [row["status"] for row in csv.DictReader(file)] == ["ok", "gold_error"]
    assert json.loads((target / "summary.json").read_text("utf-8"))["summary"][0]["mean"] == 1.0


def test_saving_again_replaces(tmp_path: Path) -> None:
    assert len(saved(report_of(RIGHT, WRONG), tmp_path)) == 2
    assert len(saved(report_of(RIGHT), tmp_path)) == 1


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        report_of(RIGHT).save(tmp_path / "file" / "out")


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"response": [HOSTILE]}, id="response"),
        pytest.param({"reference": [[HOSTILE, HOSTILE]]}, id="references"),
        pytest.param({"user_input": [HOSTILE]}, id="question"),
        pytest.param({"id": [HOSTILE]}, id="id"),
        pytest.param({"db_id": [HOSTILE]}, id="db-id"),
        pytest.param({"metadata": [{"k": HOSTILE}]}, id="metadata"),
        pytest.param({"metadata": [{HOSTILE: 1}]}, id="metadata-key"),
        pytest.param({"metadata": [{"k": math.inf}]}, id="infinity"),
        pytest.param({"metadata": [{"k": [math.nan]}]}, id="nan"),
        pytest.param({"response": [Table([HOSTILE], [(HOSTILE,)])]}, id="table"),
    ],
)
def test_hostile_items_are_written_as_valid_json(tmp_path: Path, fields: dict[str, list[Any]]) -> None:
    assert saved(report_of(RIGHT, **fields), tmp_path)[0]["value"] == 1.0
    assert b"\x1b" not in (tmp_path / "results.jsonl").read_bytes()


def test_hostile_reasons_are_written_as_valid_json(tmp_path: Path) -> None:
    assert saved(report_of(MetricResult(value=1.0, reason=HOSTILE)), tmp_path)[0]["value"] == 1.0


def test_hostile_groups_and_notes_are_written_as_valid_json(tmp_path: Path) -> None:
    report = EvaluationReport([Sample(id="1", metadata={"k": HOSTILE})], {"ex": [RIGHT]}, by=["k"], notes=[HOSTILE])
    report.save(tmp_path)
    assert len(json.loads((tmp_path / "summary.json").read_bytes().decode("utf-8"))["summary"]) == 2


def test_hostile_cells_are_written_as_valid_json(tmp_path: Path) -> None:
    cells: list[Any] = [HOSTILE, b"\xff\0", math.nan, math.inf, 10**400, None, [HOSTILE], {HOSTILE: 1}]
    gold, predicted = Table([HOSTILE], [(cell,) for cell in cells]), Table(["b"], [("other",)])
    report = evaluate([{"response": predicted, "reference": gold}], ExecutionAccuracy(), progress=False)
    line = saved(report, tmp_path)[0]
    assert line["value"] == 0.0
    assert line["details"]["missing_row_count"] == len(cells)


def test_repr_and_tables_for_a_terminal() -> None:
    report = report_of(RIGHT, BROKEN, metadata=[{"level": "[red]x"}, {}])
    assert repr(report) == "EvaluationReport(2 items, ex=1.0)"
    assert summary_table(report).row_count == 1
    assert result_line(BROKEN).plain == "   ? gold_error: the gold fails"


@pytest.mark.parametrize("level", ["[/b]", "[red]x[/red]", "\\[x]", "plain"])
def test_groups_are_shown_as_they_are(level: str) -> None:
    report = EvaluationReport([Sample(id="1", metadata={"level": level})], {"ex": [RIGHT]}, by=["level"])
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(summary_table(report, title=level))
    assert console.export_text().count(level) == 2


def test_a_terminal_never_gets_control_codes_of_the_data() -> None:
    report = EvaluationReport([Sample(id="1", metadata={"k": "\x1b[2Jx"})], {"ex": [RIGHT]}, by=["k"])
    output = io.StringIO()
    Console(width=200, file=output).print(
        summary_table(report), result_line(MetricResult(value=0.0, reason="\x1b[2Jx"))
    )
    assert "\x1b" not in output.getvalue()
