"""Columns: names, pairs of names, and the search by value."""

from __future__ import annotations

import random
import time
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlmetrics.tables.columns import ColumnSearch, fold_name, pair_by_name, project
from sqlmetrics.tables.policy import POLICIES
from sqlmetrics.tables.rows import SearchExhaustedError, same_multiset, unify
from sqlmetrics.tables.table import Row, Table

DEFAULT = POLICIES["default"]
BITS = st.integers(0, 1)


def search(predicted: list[Row], gold: list[Row], blocks: list[int] | None = None) -> ColumnSearch:
    """A search over plain rows."""
    return ColumnSearch(unify(predicted, gold, DEFAULT), DEFAULT, blocks)


@pytest.mark.parametrize(
    ("name", "folded"),
    [
        pytest.param("Name", "name", id="case"),
        pytest.param("T1.name", "name", id="qualifier"),
        pytest.param('db."T 1"."Name"', "name", id="qualified-and-quoted"),
        pytest.param("[Name]", "name", id="brackets"),
        pytest.param("`Name`", "name", id="backticks"),
        pytest.param(" name ", "name", id="white-space"),
        pytest.param("COUNT( * )", "count(*)", id="function"),
        pytest.param("max(T.x)", "max(t.x)", id="function-keeps-its-argument"),
        pytest.param("STRASSE", "strasse", id="plain"),
        pytest.param("Straße", "strasse", id="case-folding"),
        pytest.param("?column?", "?column?", id="unnamed"),
        pytest.param("", "", id="empty"),
    ],
)
def test_fold_name(name: str, folded: str) -> None:
    assert fold_name(name) == folded


@pytest.mark.parametrize(
    ("predicted", "gold", "pairs"),
    [
        pytest.param(["a", "b"], ["b", "a"], {0: 1, 1: 0}, id="swapped"),
        pytest.param(["n", "N"], ["n", "n"], {0: 0, 1: 1}, id="k-th-with-k-th"),
        pytest.param(["n"], ["n", "n"], {0: 0}, id="fewer"),
        pytest.param(["x"], ["y"], {}, id="none"),
        pytest.param([], [], {}, id="nothing"),
    ],
)
def test_pair_by_name(predicted: list[str], gold: list[str], pairs: dict[int, int]) -> None:
    assert pair_by_name(predicted, gold) == pairs


@settings(max_examples=300, deadline=None, database=None)
@given(data=st.data(), width=st.integers(1, 4), height=st.integers(1, 5))
def test_a_pairing_is_found_exactly_if_there_is_one(data: st.DataObject, width: int, height: int) -> None:
    row = st.tuples(*[BITS] * width)
    gold: list[Row] = data.draw(st.lists(row, min_size=height, max_size=height))
    order = data.draw(st.permutations(range(width)))
    predicted: list[Row] = [tuple(line[p] for p in order) for line in data.draw(st.permutations(gold))]
    if data.draw(st.booleans()):
        predicted[0] = data.draw(row)
    possible = [p for p in permutations(range(width)) if same_multiset(project(predicted, p), gold)]
    found = search(predicted, gold).find({})
    assert found in possible if possible else found is None


def test_given_pairs_are_kept() -> None:
    rows: list[Row] = [(0, 1, 1), (1, 0, 0)]
    assert search(rows, rows).find({1: 2}) == (0, 2, 1)
    assert search(rows, rows).find({0: 1}) is None or search(rows, rows).find({0: 1}) == (1, 0, 2)


def test_blocks_restrict_the_rows() -> None:
    predicted: list[Row] = [(1, 0), (0, 1)]
    gold: list[Row] = [(0, 1), (1, 0)]
    assert search(predicted, gold, [0, 1]).find({}) == (1, 0)
    assert search(predicted, gold, [0, 1]).find({0: 0}) is None


def test_wide_shuffled_tables_are_quick() -> None:
    rng = random.Random(3)
    gold: list[Row] = [tuple(rng.randint(0, 1) for _ in range(40)) for _ in range(300)]
    order = rng.sample(range(40), 40)
    predicted: list[Row] = [tuple(row[p] for p in order) for row in gold]
    started = time.perf_counter()
    pairing = search(predicted, gold).find({})
    assert pairing is not None
    assert time.perf_counter() - started < 1


def test_an_adversarial_search_ends() -> None:
    def parity(odd: int) -> list[Row]:
        return [tuple(i >> j & 1 for j in range(12)) for i in range(2**12) if i.bit_count() % 2 == odd]

    with pytest.raises(SearchExhaustedError):
        search(parity(0), parity(1)).find({})


@pytest.mark.parametrize(
    ("columns", "rows"),
    [("ab", [(1, 2)]), (["a"], [(1, 2)]), (["a", "b"], [(1, 2), (1,)])],
    ids=["text", "wide", "short"],
)
def test_a_table_must_fit_together(columns: Any, rows: list[Row]) -> None:
    with pytest.raises(ValueError, match=r"columns"):
        Table(columns, rows)


def test_a_table_keeps_names_and_cells() -> None:
    table = Table(["n", "n"], [[1, 2.0], (None, "x")])
    assert (table.columns, table.rows) == (("n", "n"), [(1, 2.0), (None, "x")])
