"""Rows: multisets, sets and matching within a tolerance."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlmetrics.tables.policy import POLICIES, ComparisonPolicy
from sqlmetrics.tables.rows import (
    SearchExhaustedError,
    leftovers,
    match_within_tolerance,
    same_multiset,
    storage_keys,
    unify,
)
from sqlmetrics.tables.table import Row
from tests.tables.oracle import same_row

LAWS = settings(max_examples=300, deadline=None, database=None)
ITEMS = st.lists(st.sampled_from("abc"), max_size=5)
DENSE = st.sampled_from([0, 0.5, 1, 1.5, 2, 2.5, 3, Decimal("1.5"), True, None, "a"])
ROWS = st.lists(st.tuples(DENSE, DENSE), max_size=5)
WITHIN_1 = ComparisonPolicy(abs_tol=1.0)


@LAWS
@given(a=ITEMS, b=ITEMS)
def test_same_multiset_counts(a: list[str], b: list[str]) -> None:
    assert same_multiset(a, b) == (Counter(a) == Counter(b))


@LAWS
@given(a=ITEMS, b=ITEMS)
def test_leftovers_are_the_differences_of_the_multisets(a: list[str], b: list[str]) -> None:
    rest_a, rest_b = leftovers([(x,) for x in a], [(x,) for x in b])
    assert Counter(a[i] for i in rest_a) == Counter(a) - Counter(b)
    assert Counter(b[j] for j in rest_b) == Counter(b) - Counter(a)


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        pytest.param(1, 1, True, id="same"),
        pytest.param(1, 1.0, False, id="integer-real"),
        pytest.param(1, True, True, id="bool-is-an-integer"),
        pytest.param(1, "1", False, id="integer-text"),
        pytest.param("a", b"a", False, id="text-blob"),
        pytest.param(1.5, Decimal("1.5"), False, id="real-decimal"),
        pytest.param(None, None, True, id="null"),
        pytest.param(math.nan, float("nan"), True, id="nan"),
    ],
)
def test_storage_keys(a: Any, b: Any, equal: bool) -> None:
    assert (storage_keys([(a,)]) == storage_keys([(b,)])) is equal


def brute_force(a: list[Row], b: list[Row], policy: ComparisonPolicy) -> bool:
    """Try every one-to-one matching."""
    return len(a) == len(b) and any(
        all(same_row(x, y, policy) for x, y in zip(a, order, strict=True)) for order in permutations(b)
    )


@LAWS
@given(a=ROWS, b=ROWS)
def test_matching_agrees_with_brute_force(a: list[Row], b: list[Row]) -> None:
    groups = ([0] * len(a), [0] * len(b))
    assert match_within_tolerance(a, b, groups, WITHIN_1) == brute_force(a, b, WITHIN_1)


@LAWS
@given(a=ROWS, b=ROWS)
def test_equal_keys_are_necessary_and_where_exact_sufficient(a: list[Row], b: list[Row]) -> None:
    unified = unify(a, b, WITHIN_1)
    alike = same_multiset(unified.predicted, unified.gold)
    assert alike >= brute_force(a, b, WITHIN_1)
    assert not unified.exact or alike == brute_force(a, b, WITHIN_1)


@pytest.mark.parametrize("gold", [[(1_700_000_000.0,)], [(1_700_000_001.0,)]])
def test_integers_keep_keys_of_their_own_beside_a_float(gold: list[Row]) -> None:
    integers: list[Row] = [(1_700_000_000,), (1_700_000_001,)]
    for unified in (unify(gold, integers, POLICIES["default"]), unify(integers, gold, POLICIES["default"])):
        rows = unified.gold if len(unified.gold) == 2 else unified.predicted
        assert not unified.exact or len(set(rows)) == 2


def test_plain_rows_are_not_copied_to_keys() -> None:
    rows: list[Row] = [(1, "a", None), (2, "b", b"x")]
    unified = unify(rows, rows, POLICIES["default"])
    assert (unified.raw, unified.exact) == (True, True)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([0.1 + 0.2, 0.3], id="two"),
        pytest.param([1.0 + i * 1e-12 for i in range(20)], id="many"),
    ],
)
def test_close_numbers_share_a_key(values: list[float]) -> None:
    unified = unify([(value,) for value in values], [], POLICIES["default"])
    assert unified.exact
    assert len(set(unified.predicted)) == 1


def test_a_chain_is_not_exact() -> None:
    unified = unify([(0,), (1,)], [(2,)], WITHIN_1)
    assert not unified.exact


def test_too_many_candidates_end_the_search() -> None:
    rows_p: list[Row] = [("a", [i % 2 + 0.5]) for i in range(3_000)]
    rows_g: list[Row] = [("a", [i % 2]) for i in range(3_000)]
    groups = ([0] * len(rows_p), [0] * len(rows_g))
    with pytest.raises(SearchExhaustedError):
        match_within_tolerance(rows_p, rows_g, groups, WITHIN_1)


@pytest.mark.parametrize("values", [[10**400, 10**400 + 1], [Decimal("1e400"), Decimal("1e400") + 1]])
def test_numbers_beyond_float_are_matched(values: list[Any]) -> None:
    rows_p: list[Row] = [(value,) for value in values]
    rows_g: list[Row] = [(value + 1,) for value in values]
    assert match_within_tolerance(rows_p, rows_g, ([0, 0], [0, 0]), WITHIN_1)
