"""Reason codes: what is said about an unequal pair."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from sqlmetrics.results import ReasonCode
from sqlmetrics.tables.compare import compare
from sqlmetrics.tables.policy import POLICIES, ComparisonPolicy
from sqlmetrics.tables.table import Row, Table

AB = ["a", "b"]
CODE = ReasonCode


def codes(predicted: Table, gold: Table, policy: str = "default", blocks: list[int] | None = None) -> list[ReasonCode]:
    """The codes of an unequal pair."""
    comparison = compare(predicted, gold, POLICIES[policy], blocks=blocks)
    assert comparison.equal is False
    return list(comparison.codes)


def one_column(*cells: Any) -> Table:
    """A table of one column."""
    return Table(["v"], [(cell,) for cell in cells])


@pytest.mark.parametrize(
    ("predicted", "gold", "expected"),
    [
        pytest.param(one_column(), one_column(1), [CODE.PREDICTION_EMPTY, CODE.MISSING_ROWS], id="prediction-empty"),
        pytest.param(one_column(1), one_column(), [CODE.GOLD_EMPTY, CODE.EXTRA_ROWS], id="gold-empty"),
        pytest.param(Table(AB, []), Table(["a"], []), [CODE.EXTRA_COLUMNS, CODE.BOTH_EMPTY], id="both-empty"),
        pytest.param(
            one_column("a", "a"), one_column("a"), [CODE.ROW_MULTIPLICITY, CODE.EXTRA_ROWS], id="multiplicity"
        ),
        pytest.param(one_column(1), one_column(1, 2), [CODE.MISSING_ROWS], id="missing-rows"),
        pytest.param(one_column(1, 2), one_column(1), [CODE.EXTRA_ROWS], id="extra-rows"),
        pytest.param(Table(["a"], [(1,)]), Table(AB, [(1, 2)]), [CODE.MISSING_COLUMNS], id="missing-columns"),
        pytest.param(Table(AB, [(1, 2)]), Table(["a"], [(1,)]), [CODE.EXTRA_COLUMNS], id="extra-columns"),
        pytest.param(one_column(1), one_column(2), [CODE.SINGLE_CELL_DIFFERENCE, CODE.VALUES_DIFFER], id="single-cell"),
        pytest.param(one_column(1, 2), one_column(3, 4), [CODE.VALUES_DIFFER], id="values"),
        pytest.param(one_column("1", "2"), one_column(1, 2), [CODE.TYPE_ONLY, CODE.VALUES_DIFFER], id="type"),
        pytest.param(
            one_column("2024-03-05", "x"),
            one_column(dt.date(2024, 3, 5), b"x"),
            [CODE.TYPE_ONLY, CODE.VALUES_DIFFER],
            id="types",
        ),
        pytest.param(one_column("A", "b"), one_column("a", "B"), [CODE.CASE_ONLY, CODE.VALUES_DIFFER], id="case"),
        pytest.param(
            one_column(" a", "b  c"),
            one_column("a", "b c"),
            [CODE.WHITESPACE_ONLY, CODE.VALUES_DIFFER],
            id="white-space",
        ),
        pytest.param(one_column(0, 0), one_column(None, None), [CODE.NULL_ONLY, CODE.VALUES_DIFFER], id="null"),
        pytest.param(
            one_column(33.33, 66.67),
            one_column(33.3333, 66.6667),
            [CODE.ROUNDING_ONLY, CODE.VALUES_DIFFER],
            id="rounding",
        ),
    ],
)
def test_codes(predicted: Table, gold: Table, expected: list[ReasonCode]) -> None:
    assert codes(predicted, gold) == expected


@pytest.mark.parametrize(
    ("policy", "predicted", "gold", "leading"),
    [
        pytest.param(
            "bird", Table(["b", "a"], [(1, "u")]), Table(AB, [("u", 1)]), CODE.COLUMN_ORDER, id="bird-by-name"
        ),
        pytest.param(
            "bird", Table(["c", "d"], [(1, "u")]), Table(AB, [("u", 1)]), CODE.COLUMN_ORDER, id="bird-by-value"
        ),
        pytest.param("strict", Table(["b", "a"], [(1, 2)]), Table(AB, [(1, 2)]), CODE.COLUMN_ORDER, id="strict-names"),
        pytest.param(
            "strict", Table(["x"], [(1,)]), Table(["v"], [(1,)]), CODE.MISSING_COLUMNS, id="strict-other-name"
        ),
        pytest.param("strict", one_column(1), one_column(1.0), CODE.TYPE_ONLY, id="strict-storage"),
        pytest.param(
            "superset", Table(["a"], [(1,)]), Table(AB, [(1, 2)]), CODE.MISSING_COLUMNS, id="superset-missing"
        ),
    ],
)
def test_leading_code_under_other_policies(policy: str, predicted: Table, gold: Table, leading: ReasonCode) -> None:
    assert codes(predicted, gold, policy)[0] == leading


@pytest.mark.parametrize(
    ("predicted", "gold", "absent"),
    [
        pytest.param(one_column("007"), one_column("7"), {CODE.TYPE_ONLY}, id="two-texts-are-of-one-type"),
        pytest.param(one_column("1"), one_column("1 "), {CODE.TYPE_ONLY}, id="white-space-is-no-type"),
        pytest.param(one_column(1), one_column(2), {CODE.ROUNDING_ONLY}, id="whole-numbers-are-not-rounded"),
        pytest.param(one_column(0), one_column(False, None), {CODE.TYPE_ONLY, CODE.NULL_ONLY}, id="other-length"),
        pytest.param(one_column("a", "b"), one_column("A", "c"), {CODE.CASE_ONLY}, id="not-only-case"),
    ],
)
def test_codes_that_would_mislead(predicted: Table, gold: Table, absent: set[ReasonCode]) -> None:
    assert not absent & set(codes(predicted, gold))


def test_another_storage_class_is_only_a_difference_of_type() -> None:
    found = set(codes(one_column(1, 2), one_column(1.0, 2.0), "strict"))
    assert not found & {CODE.CASE_ONLY, CODE.WHITESPACE_ONLY, CODE.NULL_ONLY, CODE.ROUNDING_ONLY}


@pytest.mark.parametrize(
    "predicted",
    [
        pytest.param(Table(AB, [("y", 2), ("x", 1)]), id="same-columns"),
        pytest.param(Table(["b", "a"], [(2, "y"), (1, "x")]), id="columns-swapped-by-name"),
        pytest.param(Table(["c", "d"], [(2, "y"), (1, "x")]), id="columns-swapped-by-value"),
    ],
)
def test_row_order_leads_where_only_the_order_is_wrong(predicted: Table) -> None:
    assert codes(predicted, Table(AB, [("x", 1), ("y", 2)]), blocks=[0, 1])[0] == CODE.ROW_ORDER


def test_a_name_in_other_letters_is_another_name() -> None:
    found = compare(Table(["A"], [(1,)]), Table(["a"], [(1,)]), POLICIES["strict"])
    assert CODE.COLUMN_ORDER not in found.codes
    assert found.differences is not None
    assert (found.differences.missing_columns, found.differences.extra_columns) == (("a",), ("A",))


def test_a_null_of_another_storage_class_is_still_a_null() -> None:
    found = codes(one_column(None, 2), one_column(1.5, 2), "strict")
    assert CODE.NULL_ONLY in found
    assert CODE.TYPE_ONLY not in found


def test_a_chain_whose_columns_cannot_be_swapped_is_no_matter_of_column_order() -> None:
    predicted, gold = Table(AB, [(0, 5), (0, 5), (1, 5)]), Table(AB, [(5, 2), (5, 2), (5, 1)])
    comparison = compare(predicted, gold, ComparisonPolicy(abs_tol=1.0))
    assert comparison.equal is False
    assert CODE.COLUMN_ORDER not in comparison.codes


def test_counts_and_samples() -> None:
    predicted, gold = one_column(*range(100)), one_column(*range(50, 200))
    found = compare(predicted, gold).differences
    assert found is not None
    assert (found.missing_row_count, found.extra_row_count) == (100, 50)
    assert (len(found.missing_rows), len(found.extra_rows)) == (3, 3)
    assert set(found.missing_rows) <= set(gold.rows) - set(predicted.rows)


@pytest.mark.parametrize(
    ("predicted", "gold"),
    [
        pytest.param([(0,), (0,), (1,)], [(2,), (2,), (1,)], id="chain"),
        pytest.param([(0,), (1,), (2,), (2,)], [(0,), (0,), (0,), (2,)], id="chain-of-four"),
    ],
)
def test_dense_values_that_cannot_be_matched_show_a_row_of_each_side(predicted: list[Row], gold: list[Row]) -> None:
    comparison = compare(Table(["v"], predicted), Table(["v"], gold), ComparisonPolicy(abs_tol=1.0))
    assert comparison.equal is False
    assert comparison.differences is not None
    assert comparison.differences.missing_rows
    assert comparison.differences.extra_rows


@pytest.mark.parametrize(
    ("predicted", "gold", "missing", "extra"),
    [
        pytest.param(["a"], ["a", "b"], ("b",), (), id="missing"),
        pytest.param(["a", "b"], ["b"], (), ("a",), id="extra"),
        pytest.param(["x", "y"], ["a"], (), ("y",), id="by-value"),
        pytest.param(["x"], ["a", "b"], ("b",), (), id="missing-by-value"),
    ],
)
def test_columns_without_partner_are_named(
    predicted: list[str], gold: list[str], missing: tuple[str, ...], extra: tuple[str, ...]
) -> None:
    found = compare(Table(predicted, [range(len(predicted))]), Table(gold, [range(len(gold))])).differences
    assert found is not None
    assert (found.missing_columns, found.extra_columns) == (missing, extra)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400, [1], {"k": 1}, b"\xff", "\udcfc", True, None])
def test_any_cell_can_be_explained(value: Any) -> None:
    assert codes(one_column(value), one_column("other"))[0] in set(CODE)
