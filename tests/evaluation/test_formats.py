"""Data files: every format, and what is said about a broken one."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlmetrics import ExecutionAccuracy, Sample, evaluate
from sqlmetrics.errors import FormatError
from sqlmetrics.evaluation.formats.base import Prediction, numbered_lines, read_text
from sqlmetrics.evaluation.formats.bird import SEPARATOR, read_bird_predictions
from sqlmetrics.evaluation.formats.csv import read_csv
from sqlmetrics.evaluation.formats.detect import join_predictions, load_samples, read_predictions
from sqlmetrics.evaluation.formats.jsonl import read_jsonl
from sqlmetrics.evaluation.formats.spider import one_line, read_spider_gold, read_spider_predictions

BOM = b"\xef\xbb\xbf"


def write(directory: Path, name: str, content: str | bytes) -> Path:
    """Write a file as bytes, so that line ends stay as they are."""
    path = directory / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


GOLDS = {
    "golds.jsonl": """{"id": "a", "db_id": "shop", "reference": "SELECT 1"}
{"id": "b", "db_id": "zoo", "reference": "SELECT 2"}
""",
    "golds.json": """[{"id": "a", "db_id": "shop", "gold": "SELECT 1"},
{"question_id": "b", "db_id": "zoo", "SQL": "SELECT 2"}]""",
    "golds.csv": "question_id,GOLD SQL,DATABASE\na,SELECT 1,shop\nb,SELECT 2,zoo\n",
    "golds.ndjson": """{"id": "a", "db_id": "shop", "query": "SELECT 1"}

{"id": "b", "db_id": "zoo", "gold_sql": "SELECT 2"}""",
}


@pytest.mark.parametrize("start", [b"", BOM], ids=["plain", "bom"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("name", sorted(GOLDS))
def test_golds_with_ids(tmp_path: Path, name: str, line_end: str, start: bytes) -> None:
    path = write(tmp_path, name, start + GOLDS[name].replace("\n", line_end).encode())
    found = [(sample.id, sample.db_id, sample.reference) for sample in load_samples(path)]
    assert found == [("a", "shop", "SELECT 1"), ("b", "zoo", "SELECT 2")]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("SELECT 1\tshop\nSELECT 2\tzoo\n", id="tabs"),
        pytest.param("SELECT 1\tshop\r\n\r\n  \r\nSELECT 2\tzoo", id="F68-blank-lines"),
        pytest.param("SELECT 1 | shop\nSELECT 2|zoo\n", id="F68-bar"),
        pytest.param("SELECT 1   shop\nSELECT 2\t\tzoo  \n", id="F68-spaces"),
        pytest.param("\ufeffSELECT 1\tshop\nSELECT 2\tzoo\n", id="bom"),
        pytest.param("SELECT 1\tshop\rSELECT 2\tzoo\r", id="old-line-ends"),
    ],
)
def test_spider_golds(tmp_path: Path, content: str) -> None:
    samples = read_spider_gold(write(tmp_path, "gold.sql", content))
    assert [(s.id, s.reference, s.db_id) for s in samples] == [("0", "SELECT 1", "shop"), ("1", "SELECT 2", "zoo")]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT name FROM zoo WHERE note = 'a|b'",
        "SELECT a || b FROM zoo",
        "SELECT  a FROM  zoo WHERE x = 'a  b'",
        "SELECT\ta FROM zoo",
        "SELECT 'ü😀'",
    ],
)
def test_spider_golds_keep_the_query(tmp_path: Path, sql: str) -> None:
    samples = read_spider_gold(write(tmp_path, "gold.sql", f"{sql}\tzoo_db\r\n"))
    assert [(sample.reference, sample.db_id) for sample in samples] == [(sql, "zoo_db")]


@pytest.mark.parametrize("line", ["SELECT 1", "SELECT count(*) FROM zoo", "\tshop", "SELECT 1\ta db"])
def test_a_gold_line_that_cannot_be_split_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(FormatError, match=r"gold\.sql, line 3: "):
        read_spider_gold(write(tmp_path, "gold.sql", f"SELECT 1\tshop\n\n{line}\n"))


def test_spider_predictions(tmp_path: Path) -> None:
    path = write(tmp_path, "pred.txt", "SELECT 1\tshop\r\n\nSELECT 'a\tb c'\nSELECT 3\n")
    assert read_spider_predictions(path) == [
        Prediction("0", "SELECT 1", "shop"),
        Prediction("1", None),
        Prediction("2", "SELECT 'a\tb c'"),
        Prediction("3", "SELECT 3"),
    ]


def test_blank_prediction_lines_count_as_no_answer_only_if_the_counts_agree() -> None:
    predictions = [Prediction("0", "SELECT 1"), Prediction("1", None), Prediction("2", "SELECT 3")]
    three, _ = join_predictions([Sample(id=str(n)) for n in range(3)], list(predictions), "p.txt", by_line=True)
    assert [sample.response for sample in three] == ["SELECT 1", None, "SELECT 3"]
    two, _ = join_predictions([Sample(id=str(n)) for n in range(2)], list(predictions), "p.txt", by_line=True)
    assert [sample.response for sample in two] == ["SELECT 1", "SELECT 3"]


def test_bird_predictions(tmp_path: Path) -> None:
    entries = {"0": f"SELECT 1{SEPARATOR}shop", "1": 0, "2": "SELECT 3", "3": None, "4": "", "5": f"{SEPARATOR}shop"}
    assert read_bird_predictions(write(tmp_path, "p.json", json.dumps(entries))) == [
        Prediction("0", "SELECT 1", "shop"),
        Prediction("1", None),
        Prediction("2", "SELECT 3"),
        Prediction("3", None),
        Prediction("4", None),
        Prediction("5", None, "shop"),
    ]


def test_equal_keys_inside_an_entry_are_no_doubled_index(tmp_path: Path) -> None:
    path = write(tmp_path, "p.json", '{"0": {"sql": "SELECT 1"}, "1": {"sql": "SELECT 2"}}')
    assert [prediction.id for prediction in read_bird_predictions(path)] == ["0", "1"]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    sqlite3.connect(tmp_path / "shop.sqlite").close()
    return write(tmp_path, "shop.sqlite", (tmp_path / "shop.sqlite").read_bytes())


def numbered_golds(count: int) -> list[Sample]:
    """Golds with line numbers as ids."""
    return [Sample(id=str(i), reference=f"SELECT {i}", db_id="shop") for i in range(count)]


def test_f66_predictions_are_paired_by_key(tmp_path: Path, shop: Path) -> None:
    entries = {str(i): f"SELECT {i}{SEPARATOR}shop" for i in range(12)}
    path = write(tmp_path, "predict.json", json.dumps(entries, sort_keys=True))
    samples, notes = join_predictions(numbered_golds(12), read_predictions(path), "predict.json", by_line=False)
    report = evaluate(samples, ExecutionAccuracy(shop), progress=False)
    assert (report.summary()[0].mean, report.summary()[0].item_count, notes) == (1.0, 12, [])


def test_f67_an_entry_without_a_database_takes_the_golds(tmp_path: Path, shop: Path) -> None:
    entries = {"0": "SELECT 0", "1": 0, "2": f"SELECT 2{SEPARATOR}shop"}
    path = write(tmp_path, "predict.json", json.dumps(entries))
    samples, _ = join_predictions(numbered_golds(3), read_predictions(path), "predict.json", by_line=False)
    results = evaluate(samples, ExecutionAccuracy(shop), progress=False).results["execution_accuracy"]
    assert [(result.value, result.status.value) for result in results] == [(1.0, "ok"), (0.0, "missing"), (1.0, "ok")]


def test_f67_another_database_is_reported() -> None:
    predictions = [Prediction("0", "SELECT 0", "bank"), Prediction("1", "SELECT 1", "shop")]
    samples, notes = join_predictions(numbered_golds(2), predictions, "p", by_line=False)
    assert [sample.db_id for sample in samples] == ["shop", "shop"]
    assert notes == ["id 0: the prediction names database 'bank', the gold 'shop'"]


def test_f69_another_number_of_lines_stops_with_both_counts(tmp_path: Path) -> None:
    predictions = read_predictions(write(tmp_path, "predict.txt", "SELECT 1 -- first\nAS x\nSELECT 2\n"))
    with pytest.raises(FormatError, match=r"3 prediction lines against 2 golds"):
        join_predictions(numbered_golds(2), predictions, "predict.txt", by_line=True)


def test_missing_and_surplus_predictions_are_noted() -> None:
    predictions = [Prediction("1", "SELECT 1"), Prediction("7", "SELECT 7")]
    samples, notes = join_predictions(numbered_golds(3), predictions, "p", by_line=False)
    assert [sample.response for sample in samples] == [None, "SELECT 1", None]
    assert notes == [
        "Predictions without a gold, left out: 1 (7)",
        "Golds without a prediction, which counts as missing: 2 (0, 2)",
    ]


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        pytest.param([Prediction("0", "a"), Prediction("0", "b")], "the id '0' occurs more than once", id="doubled"),
        pytest.param([Prediction("x", "a")], "no prediction has an id of the data set", id="strangers"),
        pytest.param([], "no prediction has an id of the data set", id="none"),
    ],
)
def test_predictions_that_cannot_be_paired(predictions: list[Prediction], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        join_predictions(numbered_golds(2), predictions, "p", by_line=False)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("d.jsonl", '{"id": 1}\n\n{"id": \n', r"d\.jsonl, line 3: no valid JSON", id="broken-json-line"),
        pytest.param(
            "d.jsonl", '{"id": 1}\n[1]\n', r"d\.jsonl, line 2: expected an object, but got list", id="list-line"
        ),
        pytest.param("d.jsonl", '{"id": 1}\n{"id": 1}\n', "the id '1' occurs more than once", id="doubled-id"),
        pytest.param("d.jsonl", "\n \n", "there is no item", id="only-blank-lines"),
        pytest.param("d.jsonl", b'{"id": "\xfc"}', "is not UTF-8 text", id="latin-1"),
        pytest.param("d.json", "{", r"d\.json: no valid JSON", id="broken-json"),
        pytest.param("d.json", "{}", "expected a list of objects", id="json-object"),
        pytest.param("d.json", "[1]", "Expected item 0 to be a dict", id="json-numbers"),
        pytest.param("d.json", "[]", "there is no item", id="empty-list"),
        pytest.param("d.csv", "", "the file is empty", id="empty-csv"),
        pytest.param("d.csv", "id,gold\na,SELECT 1,2\n", r"d\.csv, line 2: expected 2 cells, but got 3", id="wide-row"),
        pytest.param("d.csv", "id,ID\n", "there is no item", id="csv-without-rows"),
        pytest.param("d.csv", "question,NLQ\na,b\n", "a heading occurs twice", id="doubled-heading"),
        pytest.param("d.xlsx", "", r"unknown ending '\.xlsx'", id="unknown-ending"),
        pytest.param("d.jsonl", '{"id": 1, "metadata": "easy"}', "metadata", id="metadata-is-no-object"),
        pytest.param("d.json", "[" * 100_000, r"d\.json", id="nested-too-deeply"),
    ],
)
def test_broken_files_are_named(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        load_samples(write(tmp_path, name, content))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("p.json", '{"0": "a", "0": "b"}', "the index '0' occurs more than once", id="doubled-index"),
        pytest.param("p.json", '{"0": ', "no valid JSON", id="broken"),
        pytest.param("p.jsonl", "x", r"p\.jsonl, line 1", id="broken-line"),
        pytest.param("p.bin", "x", "unknown ending", id="unknown"),
    ],
)
def test_broken_prediction_files_are_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_predictions(write(tmp_path, name, content))


def test_missing_files_and_directories_are_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"none\.jsonl.*No such file"):
        load_samples(tmp_path / "none.jsonl")
    with pytest.raises(FormatError, match="cannot be read"):
        read_text(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.jsonl", '{"id": 7, "prediction": "SELECT 1", "db_id": "shop"}'),
        ("p.csv", "id,PREDICTED SQL,db\n7,SELECT 1,shop\n"),
    ],
)
def test_predictions_with_ids(tmp_path: Path, name: str, content: str) -> None:
    assert read_predictions(write(tmp_path, name, content)) == [Prediction("7", "SELECT 1", "shop")]


def test_id_key(tmp_path: Path) -> None:
    path = write(tmp_path, "d.jsonl", '{"id": 1, "key": "x"}\n{"id": 2, "key": "y"}\n')
    assert [sample.id for sample in load_samples(path, id_key="key")] == ["x", "y"]
    with pytest.raises(FormatError, match="item 1: there is no key 'kye'"):
        load_samples(path, id_key="kye")


def test_csv_cells_stay_text(tmp_path: Path) -> None:
    path = write(tmp_path, "d.csv", 'NLQ,PREDICTED SQL,n\n"How\nmany, ""x""?",SELECT 1,007\n\n')
    assert read_csv(path) == [{"user_input": 'How\nmany, "x"?', "response": "SELECT 1", "n": "007"}]


def test_jsonl_keeps_unusual_characters(tmp_path: Path) -> None:
    path = write(tmp_path, "d.jsonl", '{"a": "x\u2028y\\u0000\\ud800"}\n')
    assert read_jsonl(path) == [{"a": "x\u2028y\0\ud800"}]
    assert [line.number for line in numbered_lines(path)] == [1]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        pytest.param({"id": 0}, {"id": "0"}, id="zero-is-an-id"),
        pytest.param({"id": ""}, {"id": "5"}, id="empty-id-takes-the-place"),
        pytest.param({"question": "q"}, {"user_input": "q"}, id="question"),
        pytest.param(
            {"gold": "a", "reference": "b"}, {"reference": "b", "metadata": {"gold": "a"}}, id="own-name-first"
        ),
        pytest.param({"metadata": {"x": 1}, "level": "easy"}, {"metadata": {"x": 1, "level": "easy"}}, id="metadata"),
        pytest.param({"question_id": 3, "id": 4}, {"id": "4", "metadata": {"question_id": 3}}, id="two-ids"),
    ],
)
def test_keys_of_a_sample(row: dict[str, Any], expected: dict[str, Any]) -> None:
    sample = Sample.from_mapping(row, 5)
    assert {name: getattr(sample, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("sql", "line"),
    [
        pytest.param("SELECT 1\nFROM t", "SELECT 1 FROM t", id="break"),
        pytest.param("SELECT 1\r\n\r\n  FROM t\n", "SELECT 1 FROM t", id="windows"),
        pytest.param("SELECT 1 -- first\nAS x", "SELECT 1 /* first */ AS x", id="F69-comment"),
        pytest.param("SELECT '--', \"-- x\" -- y", "SELECT '--', \"-- x\" /* y */", id="comment-in-text"),
        pytest.param("SELECT 'it''s -- no' -- a */ b\n", "SELECT 'it''s -- no' /* a * / b */", id="comment-end"),
        pytest.param("SELECT 1 - -1", "SELECT 1 - -1", id="minus"),
    ],
)
def test_one_line(sql: str, line: str) -> None:
    assert one_line(sql) == line


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param("SELECT 1 /* a -- b */ + 1", id="dashes-in-a-block-comment"),
        pytest.param("SELECT 1 /* don't */ -- it's\n+ 1", id="quotes-in-comments"),
        pytest.param("SELECT 1 -- don't\n+ 1 -- it's\n+ 2", id="quotes-in-line-comments"),
        pytest.param("SELECT 1 -- a /* b\n+ 1", id="block-comment-in-a-line-comment"),
        pytest.param("SELECT 'a\nb', 'c -- d\ne'", id="break-in-text"),
        pytest.param("SELECT [a\n-- b] FROM (SELECT 1 AS [a\n-- b])", id="brackets"),
        pytest.param("SELECT 1 --\n+ 1", id="empty-comment"),
    ],
)
def test_one_line_keeps_the_result(sql: str) -> None:
    connection = sqlite3.connect(":memory:")
    try:
        assert connection.execute(one_line(sql)).fetchall() == connection.execute(sql).fetchall()
    finally:
        connection.close()


@settings(max_examples=300, deadline=None, database=None)
@given(
    parts=st.lists(
        st.sampled_from(["'a'", "+ 1", "-- c\n", "\n", "/* d */", "'-- e'", "'f''g'", "- 2", "\r\n"]), max_size=8
    )
)
def test_one_line_never_changes_a_result(parts: list[str]) -> None:
    sql = "SELECT 1 " + " ".join(part if part[0] != "'" else f"|| {part}" for part in parts)
    connection = sqlite3.connect(":memory:")
    try:
        assert connection.execute(one_line(sql)).fetchall() == connection.execute(sql).fetchall()
    finally:
        connection.close()
    assert "\n" not in one_line(sql)
