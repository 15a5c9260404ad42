"""A comparison in words: short, printable, and with a row of each side."""

from __future__ import annotations

from typing import Any

import pytest

from sqlmetrics.results import ReasonCode
from sqlmetrics.tables.compare import compare
from sqlmetrics.tables.describe import (
    _SENTENCES,
    describe_difference,
    describe_equality,
    printable,
    shape,
    show_row,
    shown_rows,
)
from sqlmetrics.tables.policy import POLICIES
from sqlmetrics.tables.table import Row, Table


def words(predicted: Table, gold: Table, blocks: list[int] | None = None) -> str:
    """The difference in words."""
    return describe_difference(compare(predicted, gold, blocks=blocks), predicted, gold)


def one_column(*cells: Any) -> Table:
    """A table of one column."""
    return Table(["v"], [(cell,) for cell in cells])


def test_every_code_has_a_sentence() -> None:
    assert set(_SENTENCES) == set(ReasonCode)


@pytest.mark.parametrize(
    ("predicted", "gold", "parts"),
    [
        pytest.param(
            one_column(1, 2), one_column(1, 3), ["(1): (3)", "(1): (2)", "a single cell"], id="a-row-of-each-side"
        ),
        pytest.param(
            one_column(1), one_column(1, 2), ["rows of the gold are missing", "only in the gold (1): (2)"], id="missing"
        ),
        pytest.param(
            Table(["a"], [(1,)]), Table(["a", "b"], [(1, 2)]), ["too few columns", "not answered: 'b'"], id="columns"
        ),
        pytest.param(Table(["a", "b"], [(1, 2)]), Table(["a"], [(1,)]), ["extra: 'b'"], id="extra-column"),
        pytest.param(
            one_column(), one_column(1), ["prediction's result is empty", "gold 1 row x 1 column"], id="empty"
        ),
        pytest.param(one_column(None), one_column("NULL"), ["(NULL)", "('NULL')"], id="null"),
        pytest.param(one_column("a\x1b[2J\0"), one_column("b"), [r"\x1b[2J\x00"], id="control-codes"),
        pytest.param(one_column("\udcfc"), one_column("ü"), [r"'\udcfc'"], id="undecodable"),
    ],
)
def test_differences_are_named(predicted: Table, gold: Table, parts: list[str]) -> None:
    text = words(predicted, gold)
    assert [part for part in parts if part not in text] == []
    assert text.isprintable()


def test_wrong_order_shows_the_first_misplaced_row() -> None:
    assert "row 2 is (3), in the gold (2)" in words(one_column(1, 3, 2), one_column(1, 2, 3), [0, 1, 2])


def test_wrong_order_of_swapped_columns_shows_rows_that_differ() -> None:
    gold = Table(["a", "b"], [(1, "x"), (2, "y"), (3, "z")])
    predicted = Table(["b", "a"], [("x", 1), ("z", 3), ("y", 2)])
    assert "row 1 is" not in words(predicted, gold, [0, 1, 2])


@pytest.mark.parametrize(
    ("predicted", "blocks", "part"),
    [
        pytest.param([2, 1, 4, 3], [0, 0, 1, 2], "row 3 is (4), in the gold (3)", id="a-tie-is-not-misplaced"),
        pytest.param([1 + 1e-12, 3, 2, 4], [0, 1, 2, 3], "row 2 is (3), in the gold (2)", id="nor-is-the-last-bit"),
    ],
)
def test_only_a_misplaced_row_is_shown(predicted: list[float], blocks: list[int], part: str) -> None:
    assert part in words(one_column(*predicted), one_column(1, 2, 3, 4), blocks)


def test_a_misplaced_row_is_shown_in_the_columns_of_the_gold() -> None:
    gold = Table(["a", "b"], [(1, "x"), (2, "y"), (3, "z")])
    predicted = Table(["b", "a"], [("x", 1), ("z", 3), ("y", 2)])
    assert "row 2 is (3, 'z'), in the gold (2, 'y')" in words(predicted, gold, [0, 1, 2])


def test_a_reason_never_shows_thousands() -> None:
    wide = Table([f"column {i}" * 20 for i in range(500)], [["x" * 1_000] * 500] * 500)
    assert len(words(wide, Table(wide.columns, [["y" * 1_000] * 500] * 500))) < 2_000
    assert len(words(Table(["v"], [("x",)]), wide)) < 2_000


@pytest.mark.parametrize(
    ("predicted", "gold", "part"),
    [
        pytest.param(one_column(), one_column(), "both results are empty", id="both-empty"),
        pytest.param(Table(["b", "a"], [(1, 2)]), Table(["a", "b"], [(2, 1)]), "in another order", id="column-order"),
        pytest.param(Table(["a", "b"], [(1, 2)]), Table(["b"], [(2,)]), "extra columns", id="extra-columns"),
        pytest.param(one_column(1), one_column(1), "equal, 1 row x 1 column", id="plain"),
    ],
)
def test_equal_pairs_say_what_is_worth_knowing(predicted: Table, gold: Table, part: str) -> None:
    assert part in describe_equality(compare(predicted, gold, POLICIES["superset"]), gold)


@pytest.mark.parametrize(
    ("rows", "text"),
    [([], "0 rows x 1 column"), ([(1,)], "1 row x 1 column"), ([(1,), (2,)], "2 rows x 1 column")],
)
def test_shape(rows: list[Row], text: str) -> None:
    assert shape(Table(["v"], rows)) == text


def test_long_rows_are_cut() -> None:
    assert show_row(tuple(range(9))) == "(0, 1, 2, 3, 4, 5, 6, 7, …)"
    assert show_row((1,)) == "(1)"
    assert shown_rows([tuple(range(9))]) == (("0", "1", "2", "3", "4", "5", "6", "7"),)


@pytest.mark.parametrize(("text", "shown"), [("é😀", "é😀"), ("a\ud800", "a\\ud800"), ("\udcff", "\\udcff")])
def test_printable_is_valid_text(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable("\udcff" * 10_000).encode()
