"""Near misses: rows that differ in one respect only, so that a person sees at once what went wrong."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Hashable
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

from sqlmetrics.results import ReasonCode
from sqlmetrics.tables.policy import ComparisonPolicy
from sqlmetrics.tables.rows import same_multiset, storage_key
from sqlmetrics.tables.table import Row
from sqlmetrics.tables.values import is_nan, is_number, key

__all__ = ["near_miss_codes"]

PAIRING_STEPS = 20_000


def near_miss_codes(rows_p: list[Row], rows_g: list[Row], policy: ComparisonPolicy) -> list[ReasonCode]:
    """Name the one respect in which rows differ: type, case, white space, NULL, rounding, a single cell.

    Args:
        rows_p: Predicted rows without an equal partner.
        rows_g: Gold rows without an equal partner, as many.
        policy: Whether storage classes count.

    Returns:
        The codes that hold for all rows together.

    Examples:
        >>> [code.value for code in near_miss_codes([("1",)], [(1,)], ComparisonPolicy())]
        ['single_cell_difference', 'type_only']
    """
    codes = []
    same = storage_key if policy.types == "storage" else key
    if len(rows_p) == 1:
        different = sum(same(a) != same(b) for a, b in zip(rows_p[0], rows_g[0], strict=True))
        if different == 1:
            codes.append(ReasonCode.SINGLE_CELL_DIFFERENCE)
    if _agree_when(_as_value, rows_p, rows_g, key) and _all_paired(rows_p, rows_g, _equal_or_other_type):
        codes.append(ReasonCode.TYPE_ONLY)
    for code, normal in _NORMALISERS:
        if _agree_when(normal, rows_p, rows_g, same):
            codes.append(code)
    for code, alike in _LIKENESSES:
        if _all_paired(rows_p, rows_g, partial(_same_or_alike, same, alike)):
            codes.append(code)
    return codes


def _same_or_alike(same: Callable[[Any], Hashable], alike: Callable[[Any, Any], bool], a: Any, b: Any) -> bool:
    """Whether two cells have the same key, or are alike in one respect; lists are looked at item by item."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(_same_or_alike(same, alike, x, y) for x, y in zip(a, b, strict=True))
    return same(a) == same(b) or alike(a, b)


def _agree_when(
    normal: Callable[[Any], Any], rows_p: list[Row], rows_g: list[Row], same: Callable[[Any], Hashable]
) -> bool:
    """Whether the rows agree as multisets once every cell is normalised."""
    normal_g = [tuple([same(_deep(normal, v)) for v in row]) for row in rows_g]
    if tuple([same(_deep(normal, v)) for v in rows_p[0]]) not in normal_g:  # settles nearly all
        return False
    return same_multiset([tuple([same(_deep(normal, v)) for v in row]) for row in rows_p], normal_g)


def _deep(normal: Callable[[Any], Any], value: Any) -> Any:
    """Normalise a cell, or the items of a list or map."""
    if isinstance(value, list | tuple):
        return [_deep(normal, item) for item in value]
    if isinstance(value, dict):
        return {name: _deep(normal, item) for name, item in value.items()}
    return normal(value)


def _as_value(value: Any) -> Any:
    """Read text as the number, the truth value, the date or the time that it spells."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.casefold() in ("true", "false"):
        return text.casefold() == "true"
    for read in (_finite, dt.datetime.fromisoformat, dt.time.fromisoformat):
        try:
            return read(text)
        except (InvalidOperation, ValueError):
            continue
    return value


def _finite(text: str) -> Decimal:
    """Read a number that is neither infinite nor NaN."""
    number = Decimal(text)
    if not number.is_finite():
        raise ValueError(text)
    return number


def _fold(value: Any) -> Any:
    """Drop letter case."""
    return value.casefold() if isinstance(value, str) else value


def _squeeze(value: Any) -> Any:
    """Drop white space at the ends and repeated white space."""
    return " ".join(value.split()) if isinstance(value, str) else value


_NORMALISERS: tuple[tuple[ReasonCode, Callable[[Any], Any]], ...] = (
    (ReasonCode.CASE_ONLY, _fold),
    (ReasonCode.WHITESPACE_ONLY, _squeeze),
)


def _equal_or_other_type(a: Any, b: Any) -> bool:
    """Whether two cells agree, or would if they were of one type."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_equal_or_other_type, a, b))
    x, y = storage_key(a), storage_key(b)
    return x[1] == y[1] or (x[0] != y[0] and key(_as_value(a)) == key(_as_value(b)))


def _one_is_null(a: Any, b: Any) -> bool:
    """Whether one of two cells is NULL."""
    return a is None or b is None


def _rounded(a: Any, b: Any) -> bool:
    """Whether two numbers agree to the decimals of the coarser one."""
    if not (is_number(a) and is_number(b)) or isinstance(a, bool) or isinstance(b, bool) or is_nan(a) or is_nan(b):
        return False
    if key(a) == key(b):  # they differ in type
        return False
    x, y = Decimal(repr(a) if isinstance(a, float) else a), Decimal(repr(b) if isinstance(b, float) else b)
    if not (x.is_finite() and y.is_finite()):
        return False
    places = min(_places(x), _places(y))
    both_whole = _places(x) == 0 and _places(y) == 0
    return not both_whole and abs(x - y) <= Decimal(1).scaleb(-places)


def _places(number: Decimal) -> int:
    """How many decimals a number has."""
    exponent = number.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


_LIKENESSES: tuple[tuple[ReasonCode, Callable[[Any, Any], bool]], ...] = (
    (ReasonCode.NULL_ONLY, _one_is_null),
    (ReasonCode.ROUNDING_ONLY, _rounded),
)


def _all_paired(rows_p: list[Row], rows_g: list[Row], alike: Callable[[Any, Any], bool]) -> bool:
    """Whether the rows can be paired one to one so that all cells are alike.

    The first fit is taken and the search is bounded, so that `False` may also mean "not found".
    """
    free = list(rows_g)
    steps = PAIRING_STEPS
    for row in rows_p:
        place = next((place for place, other in enumerate(free[:steps]) if all(map(alike, row, other))), None)
        if place is None:
            return False
        steps -= place
        del free[place]
    return True
