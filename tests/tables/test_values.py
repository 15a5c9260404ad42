"""Cells: which two are the same value."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlmetrics.tables.compare import match_tables
from sqlmetrics.tables.table import Table
from sqlmetrics.tables.values import close, is_inexact, key, show
from tests.tables.oracle import same_cell

BIG = 2**53
LAWS = settings(max_examples=300, deadline=None, database=None)
DAY = dt.date(2024, 3, 5)
MIDNIGHT = dt.datetime(2024, 3, 5)
PLUS_2 = dt.timezone(dt.timedelta(hours=2))
BERLIN = ZoneInfo("Europe/Berlin")
UUID_TEXT = "12345678-1234-5678-1234-567812345678"

NUMBERS = st.one_of(
    st.integers(-4, 4),
    st.booleans(),
    st.integers(BIG - 2, BIG + 2),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.5, 1.0, -0.0, float(BIG), 1e300, math.inf]),
    st.decimals(-4, 4, places=2),
)
CELLS = st.one_of(
    NUMBERS,
    st.none(),
    st.sampled_from(["", "1", "a", "A", b"a", b"", "\udcfc", DAY, MIDNIGHT, MIDNIGHT.replace(tzinfo=dt.UTC)]),
    st.lists(NUMBERS, max_size=2),
    st.dictionaries(st.sampled_from("kl"), NUMBERS, max_size=2),
)

SAME = [
    pytest.param(None, None, id="null"),
    pytest.param(1, 1.0, id="int-float"),
    pytest.param(1, True, id="int-bool"),
    pytest.param(Decimal("1.50"), 1.5, id="decimal-float"),
    pytest.param(Decimal("1.50"), Decimal("1.5"), id="decimal-scale"),
    pytest.param(-0.0, 0, id="minus-zero"),
    pytest.param(Decimal("-0.00"), 0.0, id="minus-zero-decimal"),
    pytest.param(float("nan"), float("nan"), id="nan"),
    pytest.param(float("nan"), Decimal("NaN"), id="nan-decimal"),
    pytest.param(Decimal("sNaN"), float("nan"), id="nan-signalling"),
    pytest.param(math.inf, Decimal("Infinity"), id="infinity"),
    pytest.param(float(BIG), BIG, id="whole-float"),
    pytest.param(DAY, MIDNIGHT, id="F12-midnight"),
    pytest.param(DAY, MIDNIGHT.replace(tzinfo=dt.UTC), id="midnight-utc"),
    pytest.param(MIDNIGHT, MIDNIGHT.replace(tzinfo=dt.UTC), id="naive-is-utc"),
    pytest.param(dt.datetime(2024, 3, 5, 12, tzinfo=PLUS_2), dt.datetime(2024, 3, 5, 10, tzinfo=dt.UTC), id="zones"),
    pytest.param(dt.datetime(2024, 3, 5, 11, tzinfo=BERLIN), dt.datetime(2024, 3, 5, 10), id="named-zone"),
    pytest.param(dt.time(10), dt.time(10, 0, 0, 0), id="clock"),
    pytest.param(dt.datetime.max.replace(tzinfo=PLUS_2), dt.datetime.max.replace(tzinfo=PLUS_2), id="end-of-calendar"),
    pytest.param(dt.timedelta(hours=24), dt.timedelta(days=1), id="interval"),
    pytest.param(b"a", bytearray(b"a"), id="bytearray"),
    pytest.param(b"a", memoryview(b"a"), id="memoryview"),
    pytest.param([1, [2.0]], [1.0, [2]], id="list"),
    pytest.param((1, 2), [1, 2], id="tuple"),
    pytest.param({"a": 1, "b": None}, {"b": None, "a": True}, id="map"),
    pytest.param({1, 2}, frozenset({2, 1.0}), id="set"),
    pytest.param(UUID(UUID_TEXT), UUID_TEXT, id="uuid"),
    pytest.param("\udcfc", "\udcfc", id="undecodable"),
]
DIFFERENT = [
    pytest.param(None, 0, id="null-zero"),
    pytest.param(None, "", id="null-empty"),
    pytest.param(None, float("nan"), id="null-nan"),
    pytest.param(None, "NULL", id="null-text"),
    pytest.param("1", 1, id="text-number"),
    pytest.param("a", "A", id="case"),
    pytest.param("a", "a ", id="white-space"),
    pytest.param("é", "e\u0301", id="unicode-forms"),
    pytest.param("a", b"a", id="text-bytes"),
    pytest.param("\udcfc", "\udcf6", id="undecodable"),
    pytest.param("nan", float("nan"), id="nan-text"),
    pytest.param(BIG, BIG + 1, id="big"),
    pytest.param(float(BIG), BIG + 1, id="big-float"),
    pytest.param(0.1, Decimal("0.1"), id="exact-decimal"),
    pytest.param(DAY, dt.datetime(2024, 3, 5, 10), id="F12-ten-o-clock"),
    pytest.param(DAY, "2024-03-05", id="date-text"),
    pytest.param(dt.time(0), MIDNIGHT, id="clock-time"),
    pytest.param(MIDNIGHT, MIDNIGHT.replace(tzinfo=PLUS_2), id="zones"),
    pytest.param(
        dt.datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN),
        dt.datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=BERLIN),
        id="fold",
    ),
    pytest.param([1, 2], [2, 1], id="list-order"),
    pytest.param([1], 1, id="list-scalar"),
    pytest.param([], None, id="empty-list"),
    pytest.param([], {}, id="list-map"),
    pytest.param({"a": 1}, {"a": 2}, id="map"),
    pytest.param({"a": 1}, {"a": 1, "b": None}, id="map-null"),
    pytest.param([("a", 1)], {"a": 1}, id="pairs-map"),
    pytest.param([1, None], [1], id="list-length"),
    pytest.param('{"a": 1}', {"a": 1}, id="json-text"),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_same(a: Any, b: Any) -> None:
    assert key(a) == key(b)
    assert hash(key(a)) == hash(key(b))
    assert close(a, b, 0.0, 0.0)


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_different(a: Any, b: Any) -> None:
    assert key(a) != key(b)
    assert not close(a, b, 0.0, 0.0)


@pytest.mark.parametrize(("a", "b"), SAME)
def test_same_in_tables(a: Any, b: Any) -> None:
    assert match_tables(Table(["v"], [(a,)]), Table(["v"], [(b,)])).equal


@pytest.mark.parametrize(("a", "b"), [case for case in DIFFERENT if case.id not in ("exact-decimal", "big-float")])
def test_different_in_tables(a: Any, b: Any) -> None:
    assert match_tables(Table(["v"], [(a,)]), Table(["v"], [(b,)])).equal is False


@LAWS
@given(a=CELLS, b=CELLS)
def test_keys_agree_with_exact_arithmetic(a: Any, b: Any) -> None:
    assert (key(a) == key(b)) == same_cell(a, b)


@LAWS
@given(a=NUMBERS, b=NUMBERS, abs_tol=st.sampled_from([0.0, 0.5, 1.0, 2.0]))
def test_close_is_symmetrical_and_wider_than_equal(a: Any, b: Any, abs_tol: float) -> None:
    assert close(a, b, 1e-9, abs_tol) == close(b, a, 1e-9, abs_tol)
    assert close(a, b, 1e-9, abs_tol) >= (key(a) == key(b))


@pytest.mark.parametrize(
    ("a", "b", "rel_tol", "abs_tol", "expected"),
    [
        pytest.param(0.1 + 0.2, 0.3, 1e-9, 0.0, True, id="last-bit"),
        pytest.param(0.1 + 0.2, Decimal("0.3"), 1e-9, 0.0, True, id="decimal"),
        pytest.param(1e-12, 0.0, 1e-9, 0.0, False, id="nothing-is-relative-to-zero"),
        pytest.param(1e-12, 0.0, 1e-9, 1e-9, True, id="absolute-near-zero"),
        pytest.param(10**10, 10**10 + 1, 1e-9, 0.0, False, id="integers-are-exact"),
        pytest.param(float(10**10), 10**10 + 1, 1e-9, 0.0, True, id="a-float-is-not"),
        pytest.param(Decimal(10**10), 10**10 + 1, 1e-9, 0.0, False, id="whole-decimals-are"),
        pytest.param(10**10, 10**10 + 1, 0.0, 1.0, True, id="absolute-for-integers-too"),
        pytest.param(0.5, 1.5, 0.0, 1.0, True, id="bound-included"),
        pytest.param(0.5, 1.75, 0.0, 1.0, False, id="beyond-the-bound"),
        pytest.param(True, 1.0000000001, 1e-9, 0.0, True, id="bool"),
        pytest.param("a", "b", 1.0, 1e9, False, id="text-has-no-tolerance"),
        pytest.param("1", 1, 1.0, 1e9, False, id="text-number"),
        pytest.param(None, 0, 1.0, 1e9, False, id="null"),
        pytest.param(math.nan, 0, 1.0, 1e9, False, id="nan"),
        pytest.param(math.inf, 1e308, 1e-9, 1e9, False, id="infinity"),
        pytest.param(math.inf, 10**400, 1e-9, 1.0, False, id="infinity-beyond-float"),
        pytest.param(math.inf, Decimal("1e400"), 1e-9, 0.0, False, id="infinity-decimal-beyond-float"),
        pytest.param(Decimal("1e400"), Decimal("2e400"), 1e-9, 0.01, False, id="decimals-beyond-float"),
        pytest.param(10**400, 10**400 + 1, 1e-9, 1.0, True, id="integers-beyond-float"),
        pytest.param(BIG, BIG + 1, 0.0, 0.01, False, id="big-integers-under-a-small-tolerance"),
        pytest.param(Decimal(BIG) + Decimal("0.5"), BIG, 0.0, 0.01, False, id="big-decimal-under-a-small-tolerance"),
        pytest.param(BIG, BIG + 1, 0.0, 1.0, True, id="big-integers-within-one"),
        pytest.param(Decimal("1e-30"), Decimal("3e-30"), 0.0, 1e-30, False, id="tiny-decimals"),
        pytest.param(Decimal("1") + Decimal("1e-20"), 1, 0.0, 1e-21, False, id="digits-beyond-float"),
        pytest.param([1.0, [2.0]], [1.5, [1.5]], 0.0, 0.5, True, id="lists"),
        pytest.param([1.0], [1.0, 1.0], 0.0, 0.5, False, id="lists-of-other-length"),
        pytest.param({"a": 1.0}, {"a": 1.5}, 0.0, 0.5, True, id="maps"),
        pytest.param({"a": 1.0}, {"b": 1.0}, 0.0, 0.5, False, id="maps-of-other-keys"),
    ],
)
def test_close(a: Any, b: Any, rel_tol: float, abs_tol: float, expected: bool) -> None:
    assert close(a, b, rel_tol, abs_tol) is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1, False), (True, False), (1.0, True), (Decimal(1), False), (Decimal("1.50"), True), (Decimal("NaN"), True)],
)
def test_is_inexact(value: Any, expected: bool) -> None:
    assert is_inexact(value) is expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(None, "NULL", id="null"),
        pytest.param("NULL", "'NULL'", id="text-null"),
        pytest.param(b"\x00\xff", "x'00ff'", id="bytes"),
        pytest.param(DAY, "2024-03-05", id="date"),
        pytest.param(Decimal("1.50"), "1.50", id="decimal"),
        pytest.param("\x1b[31m\n\0", r"'\x1b[31m\n\x00'", id="control-codes"),
        pytest.param("Z\udcfc", r"'Z\udcfc'", id="undecodable"),
    ],
)
def test_show(value: Any, text: str) -> None:
    assert show(value) == text


@pytest.mark.parametrize("value", ["a" * 10**6, b"a" * 10**6, [1] * 10**5, {"k": "v" * 10**5}, "\n" * 100])
def test_show_is_bounded(value: Any) -> None:
    assert len(show(value, limit=60)) <= 60
