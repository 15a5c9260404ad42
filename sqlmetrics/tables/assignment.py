"""Assignments: pair the items of two sides one to one, where only some pairs are possible."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["EDGE_BUDGET", "SearchExhaustedError", "has_perfect_matching", "largest_matching"]

EDGE_BUDGET = 4_000_000


class SearchExhaustedError(Exception):
    """A comparison would cost more than its budget; the pair cannot be judged."""


def has_perfect_matching(edges: Sequence[Sequence[int]], partner_count: int) -> bool:
    """Whether every item can have a partner of its own.

    Args:
        edges: The possible partners of every item.
        partner_count: How many partners there are.

    Raises:
        SearchExhaustedError: The search passed its budget.

    Examples:
        >>> has_perfect_matching([[0, 1], [0]], 2), has_perfect_matching([[0], [0]], 2)
        (True, False)
    """
    owner, waiting = _first_free(edges, partner_count)
    steps = [EDGE_BUDGET]
    return all(_augment(item, edges, owner, steps) for item in waiting)


def largest_matching(edges: Sequence[Sequence[int]], partner_count: int) -> list[int | None]:
    """Pair as many items as possible.

    Args:
        edges: The possible partners of every item.
        partner_count: How many partners there are.

    Returns:
        For every partner the item that has it, or `None`.

    Raises:
        SearchExhaustedError: The search passed its budget.
    """
    owner, waiting = _first_free(edges, partner_count)
    steps = [EDGE_BUDGET]
    for item in waiting:
        _augment(item, edges, owner, steps)
    return owner


def _first_free(edges: Sequence[Sequence[int]], partner_count: int) -> tuple[list[int | None], list[int]]:
    """Give every item the first free partner, which settles nearly all of them; the rest is left waiting."""
    owner: list[int | None] = [None] * partner_count
    waiting = []
    for item, partners in enumerate(edges):
        free = next((partner for partner in partners if owner[partner] is None), None)
        if free is None:
            waiting.append(item)
        else:
            owner[free] = item
    return owner, waiting


def _augment(start: int, edges: Sequence[Sequence[int]], owner: list[int | None], steps: list[int]) -> bool:
    """Free a partner for one item along an alternating path, depth first without recursion."""
    seen: set[int] = set()
    path: list[tuple[int, int]] = []
    stack = [(start, iter(edges[start]))]
    while stack:
        item, partners = stack[-1]
        partner = next((option for option in partners if option not in seen), None)
        if partner is None:
            stack.pop()
            if path:
                path.pop()
            continue
        steps[0] -= 1
        if steps[0] < 0:
            raise SearchExhaustedError
        seen.add(partner)
        path.append((item, partner))
        holder = owner[partner]
        if holder is None:
            for taker, taken in path:
                owner[taken] = taker
            return True
        stack.append((holder, iter(edges[holder])))
    return False
