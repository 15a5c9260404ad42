"""ExecutionAccuracy on pairs easy to get wrong: cells given by hand, ties at a cap, collations, near misses."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sqlmetrics import ConfigurationError, ExecutionAccuracy, Table, connect
from sqlmetrics.databases.base import Database

SCHEMA = """
CREATE TABLE p(id, q);
INSERT INTO p VALUES (1,10),(2,10),(3,7),(4,7),(5,1);
CREATE TABLE c(k TEXT COLLATE NOCASE, v);
INSERT INTO c VALUES ('a',1),('A',2),('b',3);
CREATE TABLE n(i);
INSERT INTO n SELECT value FROM (WITH RECURSIVE s(value) AS (SELECT 1 UNION ALL SELECT value+1 FROM s WHERE value < 150)
                                 SELECT value FROM s);
"""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """Ties, a collation, and a few numbers."""
    path = tmp_path / "p.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
    with connect(path) as opened:
        yield opened


@pytest.mark.parametrize(
    ("given", "other", "expected"),
    [
        pytest.param(np.array([1, 2]), [1, 2], 1.0, id="array-and-list"),
        pytest.param(np.array([1, 2]), np.array([1, 3]), 0.0, id="arrays"),
        pytest.param(pd.NaT, None, 1.0, id="nat-is-null"),
        pytest.param(pd.NA, None, 1.0, id="na-is-null"),
        pytest.param(pd.NaT, dt.datetime(2024, 1, 1), 0.0, id="nat-and-time"),
        pytest.param([pd.NaT], [None], 1.0, id="nat-in-a-list"),
        pytest.param(np.int64(3), 3.0000000000001, 1.0, id="numpy-on-the-number-line"),
        pytest.param(Decimal("sNaN"), float("nan"), 1.0, id="signalling-nan"),
        pytest.param(Decimal("sNaN"), 1.0, 0.0, id="signalling-nan-and-number"),
        pytest.param(pd.Timestamp(1), pd.Timestamp(2), 0.0, id="nanoseconds"),
        pytest.param(pd.Timestamp("2024-01-01"), dt.date(2024, 1, 1), 1.0, id="timestamp-and-date"),
    ],
)
def test_cells_given_by_hand(given: Any, other: Any, expected: float) -> None:
    metric = ExecutionAccuracy()
    for a, b in ((given, other), (other, given)):
        result = metric.score(response=Table(["a"], [(a,)]), reference=Table(["a"], [(b,)]))
        assert result.value == expected, result.reason


@pytest.mark.parametrize("cell", [np.array([1, 2]), [pd.NaT], {"a": 1}, float("nan"), pd.NA])
def test_a_frame_equals_its_copy(cell: Any) -> None:
    frame = pd.DataFrame({"a": pd.Series([cell], dtype=object)})
    assert ExecutionAccuracy().score(response=frame, reference=frame.copy()).value == 1.0


@pytest.mark.parametrize(
    ("columns", "rows"),
    [(["a"], [1]), (5, []), (["a"], None), (["a", "b"], ["xy"]), (["a"], [{"a": 1}]), (["a"], [(1, 2)])],
)
def test_a_table_of_the_wrong_shape_is_refused(columns: Any, rows: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"Expected|Row 1"):
        Table(columns, rows)


def test_ties_are_found_in_a_result_as_long_as_the_cap(database: Database) -> None:
    capped = database.with_limits(max_rows=3)
    gold = "SELECT id FROM p ORDER BY q LIMIT 3"
    result = ExecutionAccuracy(capped).score(response="SELECT id FROM p ORDER BY q, id DESC LIMIT 3", reference=gold)
    assert (result.value, result.details.gold_cuts_tie) == (1.0, False)  # type: ignore[union-attr]
    cut = "SELECT id FROM p ORDER BY q DESC LIMIT 3"
    other = "SELECT id FROM p ORDER BY q DESC, id DESC LIMIT 3"
    result = ExecutionAccuracy(capped).score(response=other, reference=cut)
    assert (result.value, result.details.gold_cuts_tie) == (0.0, True)  # type: ignore[union-attr]
    capped.close()


@pytest.mark.parametrize(
    ("gold", "prediction"),
    [
        ("SELECT k, v FROM c ORDER BY k", "SELECT k, v FROM c ORDER BY k, v DESC"),
        ("SELECT DISTINCT k, v FROM c ORDER BY k", "SELECT k, v FROM c ORDER BY k, v DESC"),
        ("SELECT k, v FROM c UNION ALL SELECT k, v FROM c WHERE 0 ORDER BY k", "SELECT k, v FROM c ORDER BY k, v DESC"),
    ],
)
def test_rows_tie_as_the_engine_collates(database: Database, gold: str, prediction: str) -> None:
    result = ExecutionAccuracy(database).score(response=prediction, reference=gold)
    assert result.value == 1.0, result.reason


@pytest.mark.parametrize(
    ("gold", "prediction", "code"),
    [
        ("SELECT i FROM n", "SELECT CAST(i AS TEXT) FROM n", "type_only"),
        ("SELECT 'a' || i FROM n", "SELECT 'A' || i FROM n", "case_only"),
        ("SELECT round(i / 7.0, 2) FROM n", "SELECT round(i / 7.0, 1) FROM n", "rounding_only"),
        ("SELECT i, i FROM n", "SELECT i, NULL FROM n", "null_only"),
    ],
)
def test_near_misses_are_named_however_many_rows_differ(
    database: Database, gold: str, prediction: str, code: str
) -> None:
    result = ExecutionAccuracy(database).score(response=prediction, reference=gold)
    assert result.details.reason_codes[0] == code, result.reason  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("given", "gold", "code"),
    [
        ("true", True, "type_only"),
        ("10:00:00", dt.time(10), "type_only"),
        (["1", "2"], [1, 2], "type_only"),
        (["A"], ["a"], "case_only"),
        ([1.25], [1.3], "rounding_only"),
        ([1, None], [1, 0], "null_only"),
    ],
)
def test_near_misses_of_other_types_and_in_lists(given: Any, gold: Any, code: str) -> None:
    result = ExecutionAccuracy().score(response=Table(["a"], [(given,)]), reference=Table(["a"], [(gold,)]))
    assert result.value == 0.0
    assert code in result.details.reason_codes  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("gold", "prediction", "expected"),
    [
        ("""SELECT '{"a": 1, "b": 2}'::JSON""", """SELECT '{"b":2,"a":1}'::JSON""", 1.0),
        ("SELECT '[1, 2]'::JSON", "SELECT '[1,2]'::JSON", 1.0),
        ("SELECT '1.0'::JSON", "SELECT '1'::JSON", 1.0),
        ("SELECT '[1, 2]'::JSON", "SELECT '[2, 1]'::JSON", 0.0),
        ("SELECT 'null'::JSON", "SELECT NULL::JSON", 0.0),
    ],
)
def test_json_compares_by_value(tmp_path: Path, gold: str, prediction: str, expected: float) -> None:
    duckdb = pytest.importorskip("duckdb")
    duckdb.connect(str(tmp_path / "j.duckdb")).close()
    with connect(tmp_path / "j.duckdb") as database:
        assert ExecutionAccuracy(database).score(response=prediction, reference=gold).value == expected


@pytest.mark.parametrize(
    "target",
    [
        "host=127.0.0.1 user=u password=S3cr3t",
        "jdbc:postgresql://h/x?user=u&password=S3cr3t",
        "postgres:/u:S3cr3t@h/x",
        "Server=h;Uid=u;Pwd=S3cr3t",
        "mysql://u:S3cr3t[@127.0.0.1/x",
    ],
)
def test_a_password_in_a_wrong_target_is_not_shown(target: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        ExecutionAccuracy(target).score(response="SELECT 1", reference="SELECT 1")
    assert "S3cr3t" not in str(raised.value) + repr(raised.value)


@pytest.mark.parametrize("limits", [{"max_rows": 1.5}, {"max_bytes": "1"}, {"timeout_s": True}, {"max_rows": 0}])
def test_limits_of_the_wrong_kind_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="above 0"):
        connect("p.sqlite", **limits)


def test_several_golds_of_which_none_can_be_judged(database: Database) -> None:
    result = ExecutionAccuracy(database).score(response="SELECT 1", reference=["SELECT nope", "SELECT nix"])
    assert (result.value, result.status) == (None, "gold_error")
    assert result.reason.endswith("nope. None of the 2 golds could be judged.")
