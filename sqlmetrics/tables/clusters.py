"""Clusters: which numbers of two tables does the tolerance link with each other?"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

from sqlmetrics.tables.policy import ComparisonPolicy
from sqlmetrics.tables.values import close_numbers, is_inexact, is_nan, is_number

__all__ = ["find_clusters", "find_numbers"]

FLOAT_ERROR = 2.0**-51
"""More than two roundings to float can move a number, relative to it."""


def find_numbers(rows: Iterable[Iterable[Any]]) -> tuple[set[Any], set[Any]]:
    """All numbers that occur, nested ones included, but no NaN.

    Returns:
        The inexact ones and the whole exact ones; a value that occurs as both is in both.
    """
    inexact: set[Any] = set()
    whole: set[Any] = set()
    _collect(rows, inexact, whole)
    return inexact, whole


def _collect(rows: Iterable[Iterable[Any]], inexact: set[Any], whole: set[Any]) -> None:
    """Sort the numbers of some rows into the two sets."""
    for row in rows:
        for value in row:
            if is_number(value):
                if not is_nan(value):
                    (inexact if is_inexact(value) else whole).add(value)
            elif isinstance(value, list | tuple):
                _collect([value], inexact, whole)
            elif isinstance(value, dict):
                _collect([value.values()], inexact, whole)


def find_clusters(inexact: set[Any], whole: set[Any], policy: ComparisonPolicy) -> tuple[dict[Any, Any], bool]:
    """Split numbers where no two of them, one from each side of the gap, are within the tolerance.

    Args:
        inexact: The numbers that occur as inexact ones.
        whole: The numbers that occur as whole exact ones, between which only the absolute tolerance holds.
        policy: Gives the tolerances.

    Returns:
        The least member of each number's cluster (clusters of one are left out), and whether any two members
        of every cluster are within the tolerance of each other.
    """
    if not policy.abs_tol and not inexact:
        return {}, True
    both = {number: number for number in whole if number in inexact}
    ordered = sorted(inexact.union(number for number in whole if number not in both))
    inexact_at = [place for place, number in enumerate(ordered) if number in inexact]
    cluster_of: dict[Any, Any] = {}
    equivalence = True
    start = 0
    for end in range(1, len(ordered) + 1):
        if (
            end < len(ordered)
            and _near(ordered[end - 1], ordered[end], policy)
            and _linked(ordered, end, inexact_at, policy)
        ):
            continue
        if end - start > 1:
            members = ordered[start:end]
            cluster_of.update((member, members[0]) for member in members)
            # A value of both kinds is told apart from another whole number, so the stricter kind decides.
            equivalence = equivalence and _all_close([both.get(member, member) for member in members], policy)
        start = end
    return cluster_of, equivalence


def _near(a: Any, b: Any, policy: ComparisonPolicy) -> bool:
    """A quick look at two neighbours in ascending order: `False` if they are clearly apart."""
    try:
        x, y = float(a), float(b)
    except OverflowError:
        return True
    bound = 2 * (policy.abs_tol + (policy.rel_tol + FLOAT_ERROR) * max(abs(x), abs(y)))
    apart = y - x > bound  # never for NaN, which two infinities leave
    return not apart


def _linked(ordered: list[Any], end: int, inexact_at: list[int], policy: ComparisonPolicy) -> bool:
    """Whether some pair across the gap before `end` is within the tolerance.

    Two whole neighbours may be apart and yet both lie within the relative tolerance of an inexact number. If any
    inexact number reaches across the gap, the one that is nearest to it does.
    """
    rel_tol, abs_tol = policy.rel_tol, policy.abs_tol
    if close_numbers(ordered[end - 1], ordered[end], rel_tol, abs_tol):
        return True
    if not rel_tol:
        return False
    after = bisect_left(inexact_at, end)
    if after and close_numbers(ordered[inexact_at[after - 1]], ordered[end], rel_tol, abs_tol):
        return True
    return after < len(inexact_at) and close_numbers(ordered[end - 1], ordered[inexact_at[after]], rel_tol, abs_tol)


def _all_close(members: list[Any], policy: ComparisonPolicy) -> bool:
    """Whether any two members of a sorted cluster are within the tolerance of each other.

    The ends decide for all pairs with an inexact member, the first and the last whole number for all others.
    """
    whole = [member for member in members if not is_inexact(member)]
    ends = [(members[0], members[-1]), *([(whole[0], whole[-1])] if len(whole) > 1 else [])]
    return all(close_numbers(a, b, policy.rel_tol, policy.abs_tol) for a, b in ends)
