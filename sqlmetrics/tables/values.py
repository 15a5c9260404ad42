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

__all__ = ["close", "close_numbers", "is_inexact", "is_nan", "is_number", "key", "show"]

NAN = ("nan",)
NUMBER_TYPES = (int, float, Decimal)
EXACT_BELOW = 2**53
"""Integers below it are floats without loss."""


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
    return value.is_nan() if isinstance(value, Decimal) else isinstance(value, float) and math.isnan(value)


def _container_key(value: Any, number: Callable[[Any], Hashable] | None) -> Hashable:
    """Map a list, a map or a set by its items."""
    if isinstance(value, list | tuple):
        return ("list", *(key(item, number) for item in value))
    if isinstance(value, dict):
        return ("map", frozenset((key(name), key(item, number)) for name, item in value.items()))
    return ("set", frozenset(key(item) for item in value))  # `close()` knows no tolerance between sets


def _scalar_key(value: Any) -> Hashable:
    """Map dates, times and the rarer types of drivers."""
    if isinstance(value, dt.datetime):
        nanosecond = getattr(value, "nanosecond", 0)  # of a pandas Timestamp
        return ("time", _utc(value), nanosecond) if nanosecond else ("time", _utc(value))
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
        return not is_nan(a) and not is_nan(b) and close_numbers(a, b, rel_tol, abs_tol)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(close(x, y, rel_tol, abs_tol) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[name], b[name], rel_tol, abs_tol) for name in a)
    return False


def close_numbers(a: Any, b: Any, rel_tol: float, abs_tol: float) -> bool:
    """Whether two numbers, neither of them NaN, are equal within the tolerances."""
    relative = rel_tol if is_inexact(a) or is_inexact(b) else 0.0
    if relative == 0.0 and abs_tol == 0.0:
        return bool(a == b)
    if _fits_float(a) and _fits_float(b):
        return math.isclose(a, b, rel_tol=relative, abs_tol=abs_tol)
    if _is_infinite(a) or _is_infinite(b):
        return bool(a == b)
    clear = _clearly_close(a, b, relative, abs_tol)
    if clear is not None:
        return clear
    x, y = Fraction(a), Fraction(b)
    return abs(x - y) <= max(Fraction(relative) * max(abs(x), abs(y)), Fraction(abs_tol))


def _clearly_close(a: Any, b: Any, relative: float, abs_tol: float) -> bool | None:
    """What floats say about two numbers, which is quick; `None` if their roundings could turn it."""
    try:
        x, y = float(a), float(b)
    except OverflowError:
        return None
    size = max(abs(x), abs(y))
    if not 1e-200 < size < 1e200:  # beyond it Decimals become infinite or lose digits
        return None
    distance, allowed, error = abs(x - y), max(relative * size, abs_tol), 2.0**-49 * size
    return distance < allowed if abs(distance - allowed) > error else None


def _fits_float(number: Any) -> bool:
    """Whether a number loses nothing as a float."""
    return isinstance(number, float) or (isinstance(number, int) and -EXACT_BELOW <= number <= EXACT_BELOW)


def _is_infinite(number: Any) -> bool:
    """Whether a number is an infinity."""
    return number.is_infinite() if isinstance(number, Decimal) else isinstance(number, float) and math.isinf(number)


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
