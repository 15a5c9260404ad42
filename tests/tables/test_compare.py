"""Two tables under a policy: known answers, laws, and agreement with brute force."""

from __future__ import annotations

import datetime as dt
import math
import random
import time
from decimal import Decimal
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlmetrics.results import ReasonCode
from sqlmetrics.tables.compare import compare, match_tables
from sqlmetrics.tables.policy import POLICIES, ComparisonPolicy
from sqlmetrics.tables.table import Row, Table
from tests.tables.oracle import is_equal

DEFAULT = POLICIES["default"]
BIG = 2**53
LAWS = settings(max_examples=300, deadline=None, database=None)

CELLS: list[Any] = [
    *(None, 0, 1, 2, True, False, -0.0, 0.5, 1.0, 1.5, 2.0, math.nan, math.inf),
    *(Decimal(1), Decimal("0.5"), BIG, BIG + 1, float(BIG)),
    *("a", "A", "a ", "1", "", b"a", "\udcfc"),
    *(
        dt.date(2024, 3, 5),
        dt.datetime(2024, 3, 5),
        dt.datetime(2024, 3, 5, tzinfo=dt.UTC),
        dt.datetime(2024, 3, 5, 10),
    ),
]
NESTED: list[Any] = [[1, 2], [1.0, 2], [2, 1], {"k": 1}, {"k": 2}, {"k": [None]}, None, 1, "x"]
DENSE: list[Any] = [0, 0.5, 1, 1.5, 2, 2.5, Decimal("0.5"), 3]
NAMES = st.sampled_from(["a", "b", "c", "A"])


def table(draw: st.DrawFn, cells: st.SearchStrategy[Any], width: int, height: int) -> Table:
    """Draw a table of a given shape."""
    columns = draw(st.lists(NAMES, min_size=width, max_size=width))
    row = st.lists(cells, min_size=width, max_size=width)
    return Table(columns, draw(st.lists(row, min_size=height, max_size=height)))


@st.composite
def pairs(draw: st.DrawFn, pool: list[Any], extra_column: bool = False) -> tuple[Table, Table]:
    """A gold and a prediction that is made of it by shuffling and now and then changing a cell."""
    cells = st.sampled_from(draw(st.lists(st.sampled_from(pool), min_size=1, max_size=5)))
    width, height = draw(st.integers(1, 3)), draw(st.integers(0, 4))
    gold = table(draw, cells, width, height)
    if draw(st.integers(0, 5)) == 0:
        wide = width + draw(st.integers(0, 1)) if extra_column else width
        return table(draw, cells, wide, draw(st.integers(max(0, height - 1), height))), gold
    order = draw(st.permutations(range(width)))
    rows = [[row[p] for p in order] for row in draw(st.permutations(gold.rows))]
    columns: list[str] = draw(st.permutations(["x", "y", "b"]))[:width]
    if draw(st.booleans()):
        columns = [gold.columns[p] for p in order]
    if draw(st.booleans()) and gold.rows:
        rows[draw(st.integers(0, height - 1))][draw(st.integers(0, width - 1))] = draw(cells)
    if extra_column and draw(st.booleans()):
        rows, columns = [[draw(cells), *row] for row in rows], ["more", *columns]
    return Table(columns, rows), gold


@st.composite
def blocks_for(draw: st.DrawFn, count: int) -> list[int]:
    """Numbers of blocks, never falling."""
    steps = draw(st.lists(st.integers(0, 1), min_size=count, max_size=count))
    return [sum(steps[: i + 1]) for i in range(count)]


@pytest.mark.parametrize("name", sorted(POLICIES))
@LAWS
@given(data=st.data())
def test_every_policy_agrees_with_brute_force(name: str, data: st.DataObject) -> None:
    policy = POLICIES[name]
    predicted, gold = data.draw(pairs(CELLS, extra_column=policy.extra_columns))
    assert match_tables(predicted, gold, policy).equal == is_equal(predicted, gold, policy)


@LAWS
@given(pair=pairs(NESTED))
def test_nested_cells_agree_with_brute_force(pair: tuple[Table, Table]) -> None:
    assert match_tables(*pair, DEFAULT).equal == is_equal(*pair, DEFAULT)


@pytest.mark.parametrize("columns", ["name", "position", "any"])
@pytest.mark.parametrize("rows", ["multiset", "set"])
@pytest.mark.parametrize("abs_tol", [0.5, 1.0])
@LAWS
@given(pair=pairs(DENSE))
def test_dense_values_agree_with_brute_force(
    rows: Any, columns: Any, abs_tol: float, pair: tuple[Table, Table]
) -> None:
    policy = ComparisonPolicy(rows=rows, columns=columns, abs_tol=abs_tol)
    assert match_tables(*pair, policy).equal == is_equal(*pair, policy)


@pytest.mark.parametrize("abs_tol", [0.0, 0.5])
@LAWS
@given(data=st.data(), pair=pairs([*DENSE, "a", None]))
def test_blocks_agree_with_brute_force(abs_tol: float, data: st.DataObject, pair: tuple[Table, Table]) -> None:
    blocks = data.draw(blocks_for(len(pair[1].rows)))
    policy = ComparisonPolicy(abs_tol=abs_tol)
    expected = len(pair[0].rows) == len(blocks) and is_equal(*pair, policy, blocks)
    assert match_tables(*pair, policy, blocks=blocks).equal == expected


@pytest.mark.parametrize("name", sorted(POLICIES))
@LAWS
@given(pair=pairs([*CELLS, *NESTED]))
def test_a_table_equals_itself(name: str, pair: tuple[Table, Table]) -> None:
    gold = pair[1]
    assert match_tables(gold, Table(gold.columns, list(gold.rows)), POLICIES[name]).equal


@pytest.mark.parametrize("name", ["default", "bird", "test_suite", "strict"])
@LAWS
@given(pair=pairs(CELLS))
def test_sides_can_be_swapped(name: str, pair: tuple[Table, Table]) -> None:
    predicted, gold = pair
    assert match_tables(predicted, gold, POLICIES[name]).equal == match_tables(gold, predicted, POLICIES[name]).equal


@pytest.mark.parametrize("name", sorted(POLICIES))
@LAWS
@given(data=st.data(), pair=pairs([*CELLS, *DENSE]))
def test_row_order_never_matters_without_blocks(name: str, data: st.DataObject, pair: tuple[Table, Table]) -> None:
    predicted, gold = pair
    shuffled = Table(predicted.columns, data.draw(st.permutations(predicted.rows)))
    assert match_tables(shuffled, gold, POLICIES[name]).equal == match_tables(predicted, gold, POLICIES[name]).equal


@LAWS
@given(data=st.data(), pair=pairs([*CELLS, *DENSE]), abs_tol=st.sampled_from([0.0, 0.5]))
def test_column_order_never_matters_under_any(data: st.DataObject, pair: tuple[Table, Table], abs_tol: float) -> None:
    predicted, gold = pair
    policy = ComparisonPolicy(columns="any", abs_tol=abs_tol)
    order = data.draw(st.permutations(range(len(predicted.columns))))
    rows = [tuple(row[p] for p in order) for row in predicted.rows]
    turned = Table([predicted.columns[p] for p in order], rows)
    assert match_tables(turned, gold, policy).equal == match_tables(predicted, gold, policy).equal


@LAWS
@given(pair=pairs([*CELLS, *DENSE], extra_column=True), abs_tol=st.sampled_from([0.0, 0.5]))
def test_the_pairing_of_an_equal_pair_shows_it(pair: tuple[Table, Table], abs_tol: float) -> None:
    predicted, gold = pair
    policy = ComparisonPolicy(columns="any", extra_columns=True, abs_tol=abs_tol)
    match = match_tables(predicted, gold, policy)
    pairing = match.pairing if match.equal else tuple(range(len(gold.columns)))
    assert pairing is not None
    turned = Table(gold.columns, [[row[p] for p in pairing] for row in predicted.rows])
    assert not match.equal or is_equal(turned, gold, ComparisonPolicy(columns="position", abs_tol=abs_tol))


@pytest.mark.parametrize("name", sorted(POLICIES))
@LAWS
@given(pair=pairs([*CELLS, *NESTED], extra_column=True))
def test_an_unequal_pair_has_a_code_and_an_equal_one_no_differences(name: str, pair: tuple[Table, Table]) -> None:
    comparison = compare(*pair, POLICIES[name])
    assert comparison.equal == match_tables(*pair, POLICIES[name]).equal
    assert (comparison.differences is None) == bool(comparison.equal)
    assert comparison.equal or comparison.codes


AB = ["a", "b"]


def one_column(*cells: Any) -> Table:
    """A table of one column."""
    return Table(["v"], [(cell,) for cell in cells])


@pytest.mark.parametrize(
    ("predicted", "gold", "equal"),
    [
        pytest.param(Table(["z"], [(2,)]), Table(["n"], [(1,)]), False, id="F01-values-decide"),
        pytest.param(Table(["z"], [(1,)]), Table(["n"], [(1,)]), True, id="F01-headings-do-not"),
        pytest.param(
            Table(AB, [("kea", 375), ("lori", 100)]),
            Table(AB, [("kea", 100), ("lori", 375)]),
            False,
            id="F02-association",
        ),
        pytest.param(Table(["b", "a"], [(1, "u")]), Table(AB, [("u", 1)]), True, id="F03-by-name"),
        pytest.param(Table(["id", "b"], [(1, "u")]), Table(["b"], [("u",)]), False, id="F04-extra-column"),
        pytest.param(
            Table(["n", "n"], [("Bo", "Kim")]), Table(["n", "n"], [("Ada", "Kim")]), False, id="F25-same-names"
        ),
        pytest.param(Table(["n", "n"], [(1, 2)]), Table(["n", "n"], [(2, 1)]), False, id="same-names-keep-their-order"),
        pytest.param(Table(["b", "a"], [(1, 2)]), Table(AB, [(1, 2)]), True, id="position-before-name"),
        pytest.param(Table(AB, [(1, 2)]), Table(AB, [(2, 1)]), False, id="names-forbid-swap"),
        pytest.param(Table(["c", "d"], [(1, 2)]), Table(AB, [(2, 1)]), True, id="unknown-names-pair-by-value"),
        pytest.param(
            Table(["a", "d", "c"], [(9, 1, 2)]), Table(["a", "b", "e"], [(9, 2, 1)]), True, id="rest-by-value"
        ),
        pytest.param(Table(['T1."Name"', "n"], [(1, 2)]), Table(["N", "name"], [(2, 1)]), True, id="qualified-name"),
        pytest.param(one_column("a", "a", "b"), one_column("a", "b"), False, id="F23-duplicates-count"),
        pytest.param(one_column(None, 5), one_column(0, 5), False, id="F16-null-is-not-zero"),
        pytest.param(one_column(None), one_column(""), False, id="null-is-not-empty-text"),
        pytest.param(one_column(None), one_column(None), True, id="null-equals-null"),
        pytest.param(one_column(Decimal("0.3")), one_column(0.30000000000000004), True, id="F10-last-bit"),
        pytest.param(one_column(0.001, 0.009), one_column(0.009, 0.001), True, id="multiset"),
        pytest.param(one_column(True, False), one_column(1, 0), True, id="F13-bool"),
        pytest.param(one_column("true"), one_column(True), False, id="text-is-no-bool"),
        pytest.param(one_column("1"), one_column(1), False, id="text-is-no-number"),
        pytest.param(one_column(b"a"), one_column("a"), False, id="bytes-are-no-text"),
        pytest.param(one_column(b"a"), one_column(bytearray(b"a")), True, id="bytes"),
        pytest.param(one_column("a"), one_column("a "), False, id="white-space-counts"),
        pytest.param(one_column("Z\udcfcrs"), one_column("Z\udcfcrs"), True, id="undecodable-equal"),
        pytest.param(one_column("Z\udcfcrs"), one_column("Z\udcf6rs"), False, id="undecodable-different"),
        pytest.param(one_column(["a", "b"], None), one_column(None, ["a", "b"]), True, id="F14-lists"),
        pytest.param(one_column(["a", "b"]), one_column(["b", "a"]), False, id="lists-are-ordered"),
        pytest.param(one_column({"k": 0.3}), one_column({"k": 0.1 + 0.2}), True, id="tolerance-in-maps"),
        pytest.param(one_column(BIG + 1), one_column(BIG), False, id="big-integers"),
        pytest.param(one_column(BIG + 1, float(BIG)), one_column(BIG + 1, BIG), True, id="float-equals-its-integer"),
        pytest.param(one_column(math.nan), one_column(Decimal("NaN")), True, id="nan"),
        pytest.param(one_column(math.nan), one_column(None), False, id="nan-is-not-null"),
        pytest.param(one_column(-0.0), one_column(0), True, id="minus-zero"),
        pytest.param(one_column(math.inf), one_column(-math.inf), False, id="infinities"),
        pytest.param(one_column(math.inf), one_column(10**400), False, id="infinity-is-no-integer"),
        pytest.param(one_column(math.inf), one_column(Decimal("1e400")), False, id="infinity-is-no-decimal"),
        pytest.param(Table([], []), Table([], []), True, id="nothing"),
        pytest.param(Table(["a"], []), Table(["z"], []), True, id="both-empty"),
        pytest.param(Table(AB, []), Table(["a"], []), False, id="empty-of-another-width"),
        pytest.param(Table(["a"], []), Table(["a"], [(None,)]), False, id="empty-is-not-a-null"),
    ],
)
def test_default_policy(predicted: Table, gold: Table, equal: bool) -> None:
    assert match_tables(predicted, gold).equal is equal


@pytest.mark.parametrize(
    ("policy", "predicted", "gold", "equal"),
    [
        pytest.param("bird", one_column("a", "a"), one_column("a"), True, id="bird-set"),
        pytest.param("bird", Table(["b", "a"], [(1, "u")]), Table(AB, [("u", 1)]), False, id="bird-position"),
        pytest.param("bird", one_column(0.1 + 0.2), one_column(0.3), False, id="bird-exact"),
        pytest.param("bird", Table(AB, []), Table(["a"], []), True, id="bird-empty-of-any-width"),
        pytest.param("test_suite", one_column("a", "a"), one_column("a"), False, id="test-suite-multiset"),
        pytest.param("test_suite", Table(AB, [(1, 2)]), Table(AB, [(2, 1)]), True, id="test-suite-any-permutation"),
        pytest.param(
            "test_suite", Table(AB, [(1, 2), (1, 1)]), Table(AB, [(2, 1), (2, 1)]), False, id="test-suite-one"
        ),
        pytest.param("test_suite", Table(AB, []), Table(["a"], []), True, id="test-suite-empty-of-any-width"),
        pytest.param("spider2", Table(["i", "x"], [(1, 2.004)]), Table(["v"], [(2.0,)]), True, id="spider2-contained"),
        pytest.param("spider2", one_column(2.02), one_column(2.0), False, id="spider2-tolerance"),
        pytest.param(
            "spider2", Table(AB, [(1, "x"), (2, "y")]), Table(AB, [(2, "x"), (1, "y")]), False, id="spider2-association"
        ),
        pytest.param("spider2", Table(["a"], [(1,)]), Table(AB, [(1, 1)]), False, id="spider2-one-column-serves-once"),
        pytest.param("spider2", one_column(BIG + 1), one_column(BIG), False, id="spider2-big-integers"),
        pytest.param("spider2", one_column(Decimal("1e400")), one_column(Decimal("2e400")), False, id="spider2-beyond"),
        pytest.param("superset", Table(["id", "b"], [(1, "u")]), Table(["b"], [("u",)]), True, id="superset-extra"),
        pytest.param("superset", Table(["b"], [("u",)]), Table(["id", "b"], [(1, "u")]), False, id="superset-missing"),
        pytest.param("superset", one_column("a", "a"), one_column("a"), False, id="superset-rows-count"),
        pytest.param("strict", one_column(1), one_column(1.0), False, id="strict-storage"),
        pytest.param("strict", one_column(True), one_column(1), True, id="strict-bool-is-stored-as-integer"),
        pytest.param("strict", Table(["A"], [(1,)]), Table(["a"], [(1,)]), False, id="strict-names"),
        pytest.param("strict", Table(["b", "a"], [(1, 2)]), Table(AB, [(2, 1)]), False, id="strict-column-order"),
    ],
)
def test_named_policies(policy: str, predicted: Table, gold: Table, equal: bool) -> None:
    assert match_tables(predicted, gold, POLICIES[policy]).equal is equal


@pytest.mark.parametrize(
    ("rows", "blocks", "equal"),
    [
        pytest.param([(1, "x"), (1, "y"), (2, "z")], [0, 0, 1], True, id="same"),
        pytest.param([(1, "y"), (1, "x"), (2, "z")], [0, 0, 1], True, id="F20-tie-in-any-order"),
        pytest.param([(1, "y"), (1, "x"), (2, "z")], [0, 1, 2], False, id="no-tie"),
        pytest.param([(2, "z"), (1, "x"), (1, "y")], [0, 0, 1], False, id="F19-reversed"),
        pytest.param([(2, "z"), (1, "x"), (1, "y")], None, True, id="order-free"),
    ],
)
def test_blocks(rows: list[Row], blocks: list[int] | None, equal: bool) -> None:
    gold = Table(AB, [(1, "x"), (1, "y"), (2, "z")])
    assert match_tables(Table(AB, rows), gold, blocks=blocks).equal is equal


@pytest.mark.parametrize(
    ("values", "others"),
    [
        pytest.param([0.125 - 1e-12], [0.125 + 1e-12], id="around-an-eighth"),
        pytest.param([2.675], [2.6749999999999998], id="around-half-a-cent"),
        pytest.param([0.5, 1.5], [0.5 + 1e-10, 1.5 - 1e-10], id="around-a-half"),
        pytest.param([999999.9999999999], [1000000.0], id="around-a-power-of-ten"),
        pytest.param([1e-300], [1.0000000001e-300], id="tiny"),
    ],
)
def test_a_tolerance_is_no_rounding(values: list[float], others: list[float]) -> None:
    assert match_tables(one_column(*values), one_column(*others)).equal


@given(value=st.floats(1e-6, 1e12), sign=st.sampled_from([1.0, -1.0]))
@LAWS
def test_relative_tolerance_holds_anywhere(value: float, sign: float) -> None:
    assert match_tables(one_column(sign * value), one_column(sign * value * (1 + 9e-10))).equal
    assert not match_tables(one_column(sign * value), one_column(sign * value * (1 + 2e-9))).equal


@pytest.mark.parametrize("count", [5, 50, 500])
def test_a_chain_is_matched_not_clustered(count: int) -> None:
    policy = ComparisonPolicy(abs_tol=1.0)
    steps = [float(i) for i in range(count)]
    assert match_tables(one_column(*steps[1:], float(count)), one_column(*steps), policy).equal
    assert not match_tables(one_column(*steps[1:], count + 0.5), one_column(*steps), policy).equal


def test_a_chain_needs_augmenting_paths() -> None:
    policy = ComparisonPolicy(abs_tol=1.0)
    predicted = Table(AB, [(1.0, 1.0), (0.0, 1.0), (1.0, 2.0)])
    gold = Table(AB, [(0.0, 0.0), (1.0, 2.0), (2.0, 3.0)])
    assert match_tables(predicted, gold, policy).equal is is_equal(predicted, gold, policy)


def test_columns_of_one_chain_are_told_apart() -> None:
    policy = ComparisonPolicy(columns="any", abs_tol=1.0)
    predicted, gold = Table(AB, [(0, 2), (0, 2), (1, 1)]), Table(AB, [(2, 0), (2, 0), (1, 1)])
    assert match_tables(predicted, gold, policy).equal


@pytest.mark.parametrize(
    ("predicted", "gold", "equal"),
    [
        pytest.param([(1_700_000_000.0, 1_700_000_001)], [(1_700_000_000.0, 1_700_000_000)], False, id="float-first"),
        pytest.param([(float(BIG), BIG + 1)], [(float(BIG), BIG)], False, id="beyond-float"),
        pytest.param([(1_700_000_000, 1_700_000_000.0)], [(1_700_000_000, 1_700_000_001)], True, id="integer-first"),
    ],
)
def test_a_float_elsewhere_does_not_change_how_integers_compare(
    predicted: list[Row], gold: list[Row], equal: bool
) -> None:
    assert match_tables(Table(AB, predicted), Table(AB, gold)).equal is equal


@pytest.mark.parametrize("float_value", [1_700_000_000.0, 1_700_000_002.0], ids=["below", "above"])
def test_a_float_reaches_an_integer_across_other_integers(float_value: float) -> None:
    """A float and an integer are within the tolerance although an integer lies between them."""
    policy = ComparisonPolicy(rel_tol=1e-8)
    other = 3_400_000_002 - int(float_value)
    predicted, gold = one_column(float_value, 1_700_000_001), one_column(other, 1_700_000_001)
    assert is_equal(predicted, gold, policy)
    assert match_tables(predicted, gold, policy).equal


BERLIN = ZoneInfo("Europe/Berlin")
TWICE = [dt.datetime(2024, 10, 27, 2, 30, fold=fold, tzinfo=BERLIN) for fold in (0, 1)]


@pytest.mark.parametrize(
    ("predicted", "gold", "equal"),
    [
        pytest.param(one_column(None, TWICE[0]), one_column(None, TWICE[1]), False, id="one-time"),
        pytest.param(one_column(TWICE[0], None), one_column(None, TWICE[1]), False, id="in-another-order"),
        pytest.param(one_column([TWICE[0]]), one_column([TWICE[1]]), False, id="in-a-list"),
        pytest.param(one_column({"k": TWICE[0]}), one_column({"k": TWICE[1]}), False, id="in-a-map"),
        pytest.param(one_column(TWICE[1], None), one_column(None, TWICE[1]), True, id="same"),
    ],
)
@pytest.mark.parametrize("policy", ["default", "bird"])
def test_the_hour_that_comes_twice(predicted: Table, gold: Table, equal: bool, policy: str) -> None:
    assert match_tables(predicted, gold, POLICIES[policy]).equal is equal


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([10**400, math.inf], id="beyond-float-and-infinity"),
        pytest.param([10**400, 10**400 + 1, 10**400 + 2], id="chain-beyond-float"),
        pytest.param([Decimal("1e400"), math.inf], id="decimal-and-infinity"),
        pytest.param([math.inf, 1.5, -math.inf], id="infinities"),
        pytest.param([Decimal("sNaN"), 1.5], id="signalling-nan"),
    ],
)
@pytest.mark.parametrize("abs_tol", [0.0, 1.0])
def test_extreme_numbers_are_judged(values: list[Any], abs_tol: float) -> None:
    policy = ComparisonPolicy(abs_tol=abs_tol)
    assert match_tables(one_column(*values), one_column(*values[1:], "other"), policy).equal is False
    assert match_tables(one_column(*values), one_column(*values[::-1]), policy).equal


def test_the_sequence_of_a_chain_is_not_taken_as_the_same() -> None:
    policy = ComparisonPolicy(abs_tol=1.0)
    match = match_tables(one_column(2.5, 1, 0), one_column(0, 1, 2), policy)
    assert (match.equal, match.same_sequence) == (True, False)


def test_the_pairing_of_empty_results_names_columns_that_exist() -> None:
    match = match_tables(Table(["a"], []), Table(["a", "b"], []), POLICIES["bird"])
    assert match.equal
    assert all(position < 1 for position in match.pairing or ())


def test_an_empty_result_of_another_width_answers_no_column_that_it_lacks() -> None:
    assert compare(Table(["a"], []), Table(["a", "b"], []), POLICIES["bird"]).pairing == (0, None)


def test_the_sequence_of_a_chain_can_be_the_same() -> None:
    match = match_tables(one_column(0.5, 1.5, 2.5), one_column(0, 1, 2), ComparisonPolicy(abs_tol=1.0))
    assert (match.equal, match.same_sequence) == (True, True)


@pytest.mark.parametrize(
    ("predicted", "gold", "codes"),
    [
        pytest.param(Table(["a"], []), Table(["a"], []), (ReasonCode.BOTH_EMPTY,), id="both-empty"),
        pytest.param(
            Table(["b", "a"], [(1, "u")]), Table(AB, [("u", 1)]), (ReasonCode.COLUMN_ORDER,), id="column-order"
        ),
        pytest.param(Table(AB, [(1, 2)]), Table(["b"], [(2,)]), (ReasonCode.EXTRA_COLUMNS,), id="extra-columns"),
        pytest.param(Table(AB, [(1, 2)]), Table(AB, [(1, 2)]), (), id="plain"),
    ],
)
def test_codes_of_equal_pairs(predicted: Table, gold: Table, codes: tuple[ReasonCode, ...]) -> None:
    assert compare(predicted, gold, POLICIES["superset"]).codes == codes


def test_one_hot_columns_are_quick() -> None:
    rows = [tuple(int(i % 12 == j) for j in range(12)) for i in range(200)]
    names = [f"g{j}" for j in range(12)]
    gold = Table(names, rows)
    order = random.Random(7).sample(range(12), 12)
    predicted = Table([f"p{j}" for j in range(12)], [tuple(row[p] for p in order) for row in rows[::-1]])
    started = time.perf_counter()
    assert match_tables(predicted, gold).equal
    assert time.perf_counter() - started < 1


def parity_table(width: int, odd: int, prefix: str) -> Table:
    """All 0/1 rows of one parity: every proper subset of the columns looks the same for both parities."""
    rows = [tuple(i >> j & 1 for j in range(width)) for i in range(2**width) if i.bit_count() % 2 == odd]
    return Table([f"{prefix}{j}" for j in range(width)], rows)


@pytest.mark.parametrize("width", [6, 10, 13])
def test_parity_tables_end_quickly(width: int) -> None:
    started = time.perf_counter()
    equal = match_tables(parity_table(width, 0, "p"), parity_table(width, 1, "g")).equal
    assert equal in ((False,) if width == 6 else (False, None))
    assert time.perf_counter() - started < 10


def test_explaining_a_parity_table_ends_quickly() -> None:
    started = time.perf_counter()
    assert compare(parity_table(12, 0, "p"), parity_table(12, 1, "g")).codes
    assert time.perf_counter() - started < 15


def test_dense_floats_of_many_rows_are_quick() -> None:
    values = [i * 0.004 for i in range(5_000)]
    started = time.perf_counter()
    equal = match_tables(
        one_column(*(v + 0.009 for v in reversed(values))), one_column(*values), POLICIES["spider2"]
    ).equal
    assert equal
    assert time.perf_counter() - started < 10


def test_many_rows_are_quick() -> None:
    rows = [(i, f"name {i}", i / 7) for i in range(50_000)]
    started = time.perf_counter()
    predicted = Table(["v", "n", "i"], [(v * (1 + 1e-12), n, i) for i, n, v in reversed(rows)])
    assert match_tables(predicted, Table(["i", "n", "v"], rows)).equal
    assert time.perf_counter() - started < 5


def test_blocks_of_a_sorted_table_come_in_order() -> None:
    gold = one_column(*range(100))
    swapped = list(range(100))
    for first, second in pairwise(range(0, 100, 7)):
        swapped[first], swapped[second] = swapped[second], swapped[first]
    assert match_tables(one_column(*swapped), gold, blocks=range(100)).equal is False
