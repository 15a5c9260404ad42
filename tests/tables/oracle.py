"""Table equality by brute force: every pairing of columns, every pairing of rows. Slow, short and independent."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from typing import Any

from sqlmetrics.tables.policy import ComparisonPolicy
from sqlmetrics.tables.table import Row, Table


def is_equal(predicted: Table, gold: Table, policy: ComparisonPolicy, blocks: Sequence[int] | None = None) -> bool:
    """Whether two small tables are equal under a policy."""
    wide, narrow = len(predicted.columns), len(gold.columns)
    if policy.column_names and predicted.columns != gold.columns:
        return False
    if not predicted.rows and not gold.rows and not policy.empty_width:
        return True
    if wide < narrow or (wide > narrow and not policy.extra_columns):
        return False
    return any(_rows_fit(predicted, gold, policy, blocks, pairing) for pairing in _pairings(predicted, gold, policy))


def _pairings(predicted: Table, gold: Table, policy: ComparisonPolicy) -> Iterator[tuple[int, ...]]:
    """All pairings that a policy allows: for every gold column a predicted column of its own."""
    width = len(gold.columns)
    same_width = len(predicted.columns) == width
    named = _pairs_of_names(predicted.columns, gold.columns)
    for pairing in permutations(range(len(predicted.columns)), width):
        by_position = same_width and pairing == tuple(range(width))
        by_name = all(pairing[g] == p for g, p in named.items())
        if by_position or policy.columns == "any" or (policy.columns == "name" and by_name):
            yield pairing


def _pairs_of_names(predicted: Sequence[str], gold: Sequence[str]) -> dict[int, int]:
    """The k-th column of a name with the k-th column of that name; plain names only."""
    pairs = {}
    for g, name in enumerate(gold):
        earlier = sum(other.lower() == name.lower() for other in gold[:g])
        places = [p for p, other in enumerate(predicted) if other.lower() == name.lower()]
        if earlier < len(places):
            pairs[g] = places[earlier]
    return pairs


def _rows_fit(
    predicted: Table, gold: Table, policy: ComparisonPolicy, blocks: Sequence[int] | None, pairing: tuple[int, ...]
) -> bool:
    """Whether the rows agree under one pairing of columns."""
    rows = [tuple(row[p] for p in pairing) for row in predicted.rows]
    if policy.rows == "set":
        return all(any(same_row(a, b, policy) for b in gold.rows) for a in rows) and all(
            any(same_row(a, b, policy) for a in rows) for b in gold.rows
        )
    if len(rows) != len(gold.rows):
        return False
    places = list(blocks) if blocks is not None else [0] * len(rows)
    return any(
        all(places[i] == places[j] and same_row(rows[i], gold.rows[j], policy) for i, j in enumerate(order))
        for order in permutations(range(len(rows)))
    )


def same_row(a: Row, b: Row, policy: ComparisonPolicy) -> bool:
    """Whether two rows agree cell by cell."""
    return all(
        same_cell(x, y, policy.rel_tol, policy.abs_tol)
        and (policy.types == "value" or _storage_class(x) == _storage_class(y))
        for x, y in zip(a, b, strict=True)
    )


def _storage_class(value: Any) -> str:
    """A cell's type; bool is stored as an integer."""
    return "int" if isinstance(value, bool) else type(value).__name__


def same_cell(a: Any, b: Any, rel_tol: float = 0.0, abs_tol: float = 0.0) -> bool:
    """Whether two cells are the same value, in exact arithmetic."""
    if isinstance(a, int | float | Decimal) and isinstance(b, int | float | Decimal):
        return _same_number(a, b, rel_tol, abs_tol)
    if isinstance(a, dt.date) and isinstance(b, dt.date):
        return _moment(a) == _moment(b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same_cell(x, y, rel_tol, abs_tol) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_cell(a[k], b[k], rel_tol, abs_tol) for k in a)
    return type(a) is type(b) and bool(a == b)


def _same_number(a: float | Decimal, b: float | Decimal, rel_tol: float, abs_tol: float) -> bool:
    """Whether two numbers are equal or within the tolerance; the relative one is not for two whole exact numbers."""
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    if math.isinf(a) or math.isinf(b):
        return bool(a == b)
    x, y = Fraction(a), Fraction(b)
    whole = all(not isinstance(n, float) and Fraction(n).denominator == 1 for n in (a, b))
    relative = Fraction(0) if whole else Fraction(rel_tol) * max(abs(x), abs(y))
    return abs(x - y) <= max(relative, Fraction(abs_tol))


def _moment(value: dt.date) -> dt.datetime:
    """A date or a time as a moment in UTC."""
    if not isinstance(value, dt.datetime):
        return dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
    return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)
