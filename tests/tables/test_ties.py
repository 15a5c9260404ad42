"""Blocks of tied rows, and predictions that a cut tie allows."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlmetrics.tables.policy import POLICIES, ComparisonPolicy
from sqlmetrics.tables.table import Row, Table
from sqlmetrics.tables.ties import accepted_by_ties, blocks_from_columns, blocks_from_ranks
from tests.tables.oracle import same_row

DEFAULT = POLICIES["default"]
FREE = ComparisonPolicy(order="ignore")
FILMS: list[Row] = [("Dune", 5, 1), ("Ikiru", 5, 1), ("Cube", 3, 2), ("Saw", 2, 3), ("Troll", 2, 3)]


@pytest.mark.parametrize(
    ("rows", "positions", "blocks"),
    [
        pytest.param([(3,), (3,), (1,)], [0], [0, 0, 1], id="runs"),
        pytest.param([(3,), (1,), (3,)], [0], [0, 1, 2], id="only-neighbours-tie"),
        pytest.param([(1, "a"), (1, "b")], [0, 1], [0, 1], id="two-keys"),
        pytest.param([(1, "a"), (1.0, "b")], [0], [0, 0], id="by-value"),
        pytest.param([(None,), (None,), (float("nan"),), (float("nan"),)], [0], [0, 0, 1, 1], id="null-and-nan"),
        pytest.param([(1,), (2,)], [], [0, 0], id="no-key"),
        pytest.param([], [0], [], id="empty"),
    ],
)
def test_blocks_from_columns(rows: list[Row], positions: list[int], blocks: list[int]) -> None:
    width = len(rows[0]) if rows else 1
    assert blocks_from_columns(Table(["c"] * width, rows), positions) == blocks


@pytest.mark.parametrize(
    ("gold", "ranked", "blocks"),
    [
        pytest.param(["a", "b"], [("a", 1), ("b", 1), ("c", 2)], [1, 1], id="tie"),
        pytest.param(["b", "a"], [("a", 1), ("b", 1)], [1, 1], id="tie-in-another-order"),
        pytest.param(["a", "b"], [("a", 1), ("b", 2)], [1, 2], id="no-tie"),
        pytest.param(["a", "a"], [("a", 1), ("a", 2)], [1, 2], id="equal-rows-of-two-ranks"),
        pytest.param(["a", "c"], [("a", 1), ("b", 2)], [1, 2], id="cut-off"),
        pytest.param(["b", "a"], [("a", 1), ("b", 2)], None, id="another-story"),
        pytest.param(["a"], [], None, id="nothing"),
        pytest.param([], [("a", 1)], [], id="empty-gold"),
    ],
)
def test_blocks_from_ranks(gold: list[str], ranked: list[Row], blocks: list[int] | None) -> None:
    assert blocks_from_ranks(Table(["v"], [(cell,) for cell in gold]), ranked) == blocks


@pytest.mark.parametrize(
    ("rows", "window", "policy", "accepted"),
    [
        pytest.param([("Dune", 5)], (0, 1), DEFAULT, True, id="F21-the-one"),
        pytest.param([("Ikiru", 5)], (0, 1), DEFAULT, True, id="F21-the-other"),
        pytest.param([("Cube", 3)], (0, 1), DEFAULT, False, id="of-a-later-block"),
        pytest.param([("Ikiru", 5), ("Dune", 5), ("Cube", 3), ("Troll", 2)], (0, 4), DEFAULT, True, id="whole-and-cut"),
        pytest.param(
            [("Ikiru", 5), ("Cube", 3), ("Dune", 5), ("Troll", 2)], (0, 4), DEFAULT, False, id="blocks-in-order"
        ),
        pytest.param([("Troll", 2), ("Cube", 3), ("Dune", 5), ("Ikiru", 5)], (0, 4), FREE, True, id="order-ignored"),
        pytest.param([("Dune", 5), ("Dune", 5)], (0, 2), DEFAULT, False, id="one-row-twice"),
        pytest.param([("Dune", 5), ("Cube", 3)], (1, 2), DEFAULT, True, id="cut-by-the-offset"),
        pytest.param([("Dune", 5), ("Saw", 2), ("Troll", 2)], (0, 3), FREE, False, id="whole-block-is-needed"),
        pytest.param([("Dune", 5)], (0, 2), DEFAULT, False, id="too-few-rows"),
        pytest.param([("Dune", 5.0 + 1e-12)], (0, 1), DEFAULT, True, id="within-tolerance"),
    ],
)
def test_accepted_by_ties(rows: list[Row], window: tuple[int, int], policy: ComparisonPolicy, accepted: bool) -> None:
    predicted = Table(["name", "stars"], rows)
    assert accepted_by_ties(predicted, FILMS, ["name", "stars"], window, policy) is accepted


@pytest.mark.parametrize(
    ("columns", "rows", "policy"),
    [
        pytest.param(["stars", "name"], [(5, "Ikiru")], DEFAULT, id="by-name"),
        pytest.param(["n", "s"], [("Ikiru", 5)], DEFAULT, id="by-position"),
        pytest.param(["s", "n"], [(5, "Ikiru")], DEFAULT, id="by-value"),
        pytest.param(["s", "n"], [(5, "Ikiru")], POLICIES["test_suite"], id="any-permutation"),
        pytest.param(["id", "name", "stars"], [(7, "Ikiru", 5)], POLICIES["superset"], id="extra-column"),
    ],
)
def test_ties_pair_columns_as_the_policy_does(columns: list[str], rows: list[Row], policy: ComparisonPolicy) -> None:
    assert accepted_by_ties(Table(columns, rows), FILMS, ["name", "stars"], (0, 1), policy)


def test_ties_keep_to_the_position_if_the_policy_does() -> None:
    predicted = Table(["stars", "name"], [(5, "Ikiru")])
    assert not accepted_by_ties(predicted, FILMS, ["name", "stars"], (0, 1), POLICIES["strict"])


def test_a_chain_of_values_is_no_tie() -> None:
    ranked: list[Row] = [(0, 1), (1, 2), (2, 3)]
    assert not accepted_by_ties(Table(["v"], [(2,)]), ranked, ["v"], (0, 1), ComparisonPolicy(abs_tol=1.0))


@st.composite
def ranked_rows(draw: st.DrawFn) -> list[Row]:
    """Rows with a rank that never falls; the ranks do not show in the cells."""
    steps = draw(st.lists(st.integers(0, 1), min_size=1, max_size=5))
    cells = draw(st.lists(st.sampled_from("abc"), min_size=len(steps), max_size=len(steps)))
    return [(cell, sum(steps[: i + 1])) for i, cell in enumerate(cells)]


def allowed_answers(ranked: list[Row], window: tuple[int, int], policy: ComparisonPolicy, rows: list[Row]) -> bool:
    """Whether some order of the tied rows puts the prediction into the window."""
    offset, count = window
    for order in permutations(ranked):
        if [row[-1] for row in order] != [row[-1] for row in ranked]:
            continue
        answer = [row[:-1] for row in order[offset : offset + count]]
        ways = [tuple(rows)] if policy.order != "ignore" else permutations(rows)
        if any(all(same_row(a, b, policy) for a, b in zip(way, answer, strict=True)) for way in ways):
            return True
    return False


@pytest.mark.parametrize("policy", [DEFAULT, FREE], ids=["ordered", "free"])
@settings(max_examples=400, deadline=None, database=None)
@given(data=st.data(), ranked=ranked_rows())
def test_ties_agree_with_brute_force(policy: ComparisonPolicy, data: st.DataObject, ranked: list[Row]) -> None:
    offset = data.draw(st.integers(0, len(ranked) - 1))
    count = data.draw(st.integers(1, len(ranked) - offset))
    cells: list[Any] = data.draw(st.lists(st.sampled_from("abc"), min_size=count, max_size=count))
    rows: list[Row] = [(cell,) for cell in cells]
    accepted = accepted_by_ties(Table(["v"], rows), ranked, ["v"], (offset, count), policy)
    assert accepted == allowed_answers(ranked, (offset, count), policy, rows)


def test_rows_of_two_cut_blocks_are_shared_out() -> None:
    ranked: list[Row] = [("a", 1), ("b", 1), ("a", 2), ("c", 2)]
    assert accepted_by_ties(Table(["v"], [("a",), ("b",)]), ranked, ["v"], (1, 2), FREE)


@pytest.mark.parametrize("policy", [DEFAULT, FREE], ids=["ordered", "free"])
def test_ranks_that_fall_allow_no_answer(policy: ComparisonPolicy) -> None:
    assert not accepted_by_ties(Table(["v"], [("a",)]), [("a", 2), ("b", 1)], ["v"], (0, 1), policy)


@pytest.mark.parametrize(
    ("values", "accepted"),
    [
        pytest.param([0.5, 2.5], True, id="each-block-gives-one"),
        pytest.param([0.5, 0.6], True, id="two-from-near-rows-of-either-block"),
        pytest.param([2.9, 3.5], False, id="both-from-the-second-block"),
    ],
)
def test_tolerant_ties_take_from_each_block_its_share(values: list[float], accepted: bool) -> None:
    ranked: list[Row] = [(9, 1), (0, 1), (1, 2), (2, 2), (3, 2)]
    policy = ComparisonPolicy(order="ignore", abs_tol=1.0)
    predicted = Table(["v"], [(value,) for value in values])
    assert accepted_by_ties(predicted, ranked, ["v"], (1, 2), policy) is accepted
    rows: list[Row] = [(value,) for value in values]
    assert allowed_answers(ranked, (1, 2), policy, rows) is accepted


def test_ties_want_the_names_if_the_policy_does() -> None:
    policy = ComparisonPolicy(column_names=True)
    assert not accepted_by_ties(Table(["n", "s"], [("Dune", 5)]), FILMS, ["name", "stars"], (0, 1), policy)
