"""One cell: when are two values the same value?

`key()` maps a cell to a hashable key, so that equal keys are exactly the equality of cells without a tolerance:
NULL equals NULL; bool, int, float and Decimal are one number line; text equals text; a date equals its midnight;
naive times count as UTC; lists and maps compare by value; NaN equals NaN. `close()` adds the tolerance.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Hashable
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

__all__ = ["close", "is_inexact", "is_nan", "is_number", "key", "show"]

NAN = ("nan",)
NUMBER_TYPES = (int, float, Decimal)


def is_number(value: object) -> bool:
    """Whether a cell lies on the number line."""
    return isinstance(value, NUMBER_TYPES)


def is_inexact(value: object) -> bool:
    """Whether a cell is a number that the relative tolerance applies to: anything but a whole exact number.

    Two integers (or integral decimals) are compared exactly, so that long identifiers stay apart.
    """
    if isinstance(value, int):
        return False
    if isinstance(value, Decimal):
        return not value.is_finite() or value != value.to_integral_value()
    return isinstance(value, float)


def key(value: Any, number: Callable[[Any], Hashable] | None = None) -> Hashable:
    """Map a cell to its canonical key.

    Args:
        value: A cell as a driver returned it.
        number: What a number maps to, nested ones included; by default to itself.

    Returns:
        A hashable key; equal keys mean equal cells.

    Examples:
        >>> import datetime as dt
        >>> key(1) == key(1.0) == key(True), key("1") == key(1)
        (True, False)
        >>> key(dt.date(2024, 3, 5)) == key(dt.datetime(2024, 3, 5))
        True
    """
    if isinstance(value, NUMBER_TYPES):
        if is_nan(value):
            return NAN
        return number(value) if number else value
    if value is None or isinstance(value, str | bytes):
        return value
    if isinstance(value, list | tuple | dict | set | frozenset):
        return _container_key(value, number)
    return _scalar_key(value)


def is_nan(value: Any) -> bool:
    """Whether a number is not a number, quiet or signalling."""
    return value.is_nan() if isinstance(value, Decimal) else value != value


def _container_key(value: Any, number: Callable[[Any], Hashable] | None) -> Hashable:
    """Map a list, a map or a set by its items."""
    if isinstance(value, list | tuple):
        return ("list", *(key(item, number) for item in value))
    if isinstance(value, dict):
        return ("map", frozenset((key(name), key(item, number)) for name, item in value.items()))
    return ("set", frozenset(key(item, number) for item in value))


def _scalar_key(value: Any) -> Hashable:
    """Map dates, times and the rarer types of drivers."""
    if isinstance(value, dt.datetime):
        return ("time", _utc(value))
    if isinstance(value, dt.date):
        return ("time", dt.datetime(value.year, value.month, value.day))
    if isinstance(value, dt.time):
        return ("clock", value.replace(tzinfo=None), value.utcoffset() or None)
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, UUID):
        return str(value)
    return value if isinstance(value, Hashable) else ("other", type(value).__name__, repr(value))


def _utc(value: dt.datetime) -> dt.datetime:
    """Bring a time to UTC and drop its zone; a naive time counts as UTC."""
    offset = value.utcoffset()
    naive = dt.datetime(value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond)
    if not offset:
        return naive
    try:
        return naive - offset
    except OverflowError:  # at the ends of the calendar
        return naive


def close(a: Any, b: Any, rel_tol: float, abs_tol: float) -> bool:
    """Whether two cells are equal within the tolerances.

    Args:
        a: A cell.
        b: Another cell.
        rel_tol: Relative tolerance; it is not applied between two whole exact numbers.
        abs_tol: Absolute tolerance in the unit of the cells; applied to all numbers.

    Returns:
        Whether they count as the same value. Lists and maps are compared item by item.

    Examples:
        >>> close(0.1 + 0.2, 0.3, 1e-9, 0.0), close(9007199254740993, 9007199254740992, 1e-9, 0.0)
        (True, False)
    """
    if key(a) == key(b):
        return True
    if is_number(a) and is_number(b):
        return _close_numbers(a, b, rel_tol, abs_tol)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(close(x, y, rel_tol, abs_tol) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[name], b[name], rel_tol, abs_tol) for name in a)
    return False


def _close_numbers(a: Any, b: Any, rel_tol: float, abs_tol: float) -> bool:
    """Compare two numbers that are not exactly equal."""
    relative = rel_tol if is_inexact(a) or is_inexact(b) else 0.0
    if relative == 0.0 and abs_tol == 0.0:
        return False
    try:
        return math.isclose(float(a), float(b), rel_tol=relative, abs_tol=abs_tol)
    except OverflowError:  # an int or Decimal beyond the range of float
        exact_a, exact_b = Fraction(a), Fraction(b)
        allowed = max(Fraction(relative) * max(abs(exact_a), abs(exact_b)), Fraction(abs_tol))
        return abs(exact_a - exact_b) <= allowed


def show(value: Any, limit: int = 60) -> str:
    """Write one cell for a person: bounded, printable, with bytes that are no text escaped.

    Examples:
        >>> show(None), show("a" * 70, limit=10)
        ('NULL', "'aaaaaaaa…")
    """
    if value is None:
        return "NULL"
    if isinstance(value, str):
        text = repr(value[: limit + 1])
    elif isinstance(value, bytes):
        text = "x'" + value[:limit].hex() + "'"
    elif isinstance(value, dt.date | dt.time | Decimal | UUID):
        text = str(value)
    else:
        text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
