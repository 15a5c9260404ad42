"""Rows: do two lists of rows agree as multisets, as sets, or block by block?

Two ways lead there. Where the tolerance is an equivalence on the numbers that occur (nearly always: a relative 1e-9
splits them into clear clusters), every number is replaced by its cluster and rows are compared by hashing. Otherwise
exact matches are taken out first and the rest is matched by an assignment within the tolerance.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain
from typing import Any

from sqlmetrics.tables.policy import ComparisonPolicy
from sqlmetrics.tables.table import Row
from sqlmetrics.tables.values import close, is_inexact, is_nan, is_number, key

__all__ = [
    "SearchExhaustedError",
    "Unified",
    "leftovers",
    "match_within_tolerance",
    "same_multiset",
    "storage_keys",
    "unify",
]

PLAIN_TYPES = frozenset({int, float, str, bool, bytes, type(None)})
"""Types whose values are their own keys, NaN apart."""

PLAIN_NUMBERS = frozenset({int, float, bool})
EDGE_BUDGET = 4_000_000
SMALL_CLUSTER = 8


class SearchExhaustedError(Exception):
    """A comparison would cost more than its budget; the pair cannot be judged."""


class Unified:
    """Both sides as rows of keys.

    Attributes:
        predicted: The predicted rows as keys.
        gold: The gold rows as keys.
        exact: Whether equal keys mean equal cells. If not, equal keys are only necessary, and a row match has
            to be confirmed by `match_within_tolerance`.
        raw: Whether the keys are the drivers' own rows.
    """

    __slots__ = ("exact", "gold", "predicted", "raw")

    def __init__(self, predicted: list[Row], gold: list[Row], *, exact: bool, raw: bool = False) -> None:
        """Keep both sides."""
        self.predicted = predicted
        self.gold = gold
        self.exact = exact
        self.raw = raw


def same_multiset(a: Sequence[Hashable], b: Sequence[Hashable]) -> bool:
    """Whether two sequences hold the same items equally often.

    Examples:
        >>> same_multiset([1, 2, 2], [2, 1, 2]), same_multiset([1, 2, 2], [1, 1, 2])
        (True, False)
    """
    if len(a) != len(b):
        return False
    distinct = set(a)
    if distinct != set(b):
        return False
    return len(distinct) == len(a) or Counter(a) == Counter(b)


def leftovers(a: Sequence[Row], b: Sequence[Row]) -> tuple[list[int], list[int]]:
    """Take equal rows out of both sides, one for one.

    Returns:
        The positions of the rows of `a`, and of those of `b`, that found no equal partner.
    """
    waiting: dict[Row, list[int]] = defaultdict(list)
    for position, row in enumerate(b):
        waiting[row].append(position)
    rest = []
    for position, row in enumerate(a):
        partners = waiting.get(row)
        if partners:
            partners.pop()
        else:
            rest.append(position)
    return rest, sorted(position for positions in waiting.values() for position in positions)


def storage_keys(rows: Iterable[Row]) -> list[Row]:
    """Keys that also tell storage classes apart: 1, 1.0 and '1' are three different cells."""
    return [tuple(("int" if isinstance(v, int) else type(v).__name__, key(v)) for v in row) for row in rows]


def unify(predicted: Sequence[Row], gold: Sequence[Row], policy: ComparisonPolicy) -> Unified:
    """Turn both sides into rows of keys under the policy's tolerance.

    Args:
        predicted: The predicted rows.
        gold: The gold rows.
        policy: Gives the tolerances and whether storage classes count.

    Returns:
        Both sides as keys, and whether equal keys decide.
    """
    if policy.types == "storage":
        return Unified(storage_keys(predicted), storage_keys(gold), exact=True)
    types = set(map(type, chain.from_iterable(predicted))) | set(map(type, chain.from_iterable(gold)))
    if types <= PLAIN_TYPES:
        plain = _unify_plain(predicted, gold, policy, types)
        if plain is not None:
            return plain
    number: Callable[[Any], Hashable] | None = None
    exact = True
    if policy.rel_tol or policy.abs_tol:
        cluster_of, exact = _clusters(_numbers([*predicted, *gold]), policy)
        if cluster_of:
            number = lambda value: cluster_of.get(value, value)  # noqa: E731
    return Unified(
        [tuple([key(value, number) for value in row]) for row in predicted],
        [tuple([key(value, number) for value in row]) for row in gold],
        exact=exact,
    )


def _unify_plain(
    predicted: Sequence[Row], gold: Sequence[Row], policy: ComparisonPolicy, types: set[type]
) -> Unified | None:
    """Unify cells that are their own keys: only numbers that lie in one cluster have to be replaced.

    Returns:
        Both sides, or `None` if a NaN occurs, which is not its own key.
    """
    if float not in types and not policy.abs_tol:
        return Unified(list(predicted), list(gold), exact=True, raw=True)
    numbers = {value for row in chain(predicted, gold) for value in row if type(value) in PLAIN_NUMBERS}
    if any(map(is_nan, numbers)):
        return None
    if not (policy.rel_tol or policy.abs_tol):
        return Unified(list(predicted), list(gold), exact=True, raw=True)
    cluster_of, exact = _clusters(numbers, policy)
    if not cluster_of:
        return Unified(list(predicted), list(gold), exact=True, raw=True)
    get = cluster_of.get
    return Unified(
        [tuple([get(value, value) for value in row]) for row in predicted],
        [tuple([get(value, value) for value in row]) for row in gold],
        exact=exact,
    )


def _numbers(rows: Iterable[Iterable[Any]]) -> set[Any]:
    """All numbers that occur, nested ones included, each once."""
    found: set[Any] = set()
    for row in rows:
        for value in row:
            if is_number(value):
                if not is_nan(value):
                    found.add(value)
            elif isinstance(value, list | tuple):
                found |= _numbers([value])
            elif isinstance(value, dict):
                found |= _numbers([value.values()])
    return found


def _clusters(numbers: set[Any], policy: ComparisonPolicy) -> tuple[dict[Any, Any], bool]:
    """Split numbers where the gap between neighbours exceeds the tolerance.

    Returns:
        The least member of each number's cluster (clusters of one are left out), and whether any two members
        of every cluster are within the tolerance of each other.
    """
    if not policy.abs_tol and not any(map(is_inexact, numbers)):
        return {}, True
    ordered = sorted(numbers)
    cluster_of: dict[Any, Any] = {}
    equivalence = True
    start = 0
    for end in range(1, len(ordered) + 1):
        if (
            end < len(ordered)
            and _near(ordered[end - 1], ordered[end], policy)
            and close(ordered[end - 1], ordered[end], policy.rel_tol, policy.abs_tol)
        ):
            continue
        members = ordered[start:end]
        if len(members) > 1:
            cluster_of.update((member, members[0]) for member in members)
            equivalence = equivalence and _all_close(members, policy)
        start = end
    return cluster_of, equivalence


def _near(a: Any, b: Any, policy: ComparisonPolicy) -> bool:
    """A quick look at two neighbours in ascending order: `False` if they are clearly apart."""
    if type(a) is int and type(b) is int and not policy.abs_tol:
        return False
    try:
        return float(b) - float(a) <= 2 * (policy.abs_tol + policy.rel_tol * max(abs(float(a)), abs(float(b))))
    except OverflowError:
        return True


def _all_close(members: list[Any], policy: ComparisonPolicy) -> bool:
    """Whether any two members of a sorted cluster are within the tolerance; `False` if that is too long to find out."""
    if len(members) > SMALL_CLUSTER:
        whole = sum(not is_inexact(member) for member in members)
        return whole < 2 and close(members[0], members[-1], policy.rel_tol, policy.abs_tol)
    return all(close(a, b, policy.rel_tol, policy.abs_tol) for i, a in enumerate(members) for b in members[i + 1 :])


def match_within_tolerance(
    predicted: Sequence[Row],
    gold: Sequence[Row],
    groups: tuple[Sequence[Hashable], Sequence[Hashable]],
    policy: ComparisonPolicy,
) -> bool:
    """Whether the rows can be matched one to one, each pair within the tolerance.

    Args:
        predicted: Predicted rows, already projected on the gold's columns.
        gold: Gold rows.
        groups: A key for every row of either side; rows can only match where these keys agree.
        policy: Gives the tolerances.

    Returns:
        Whether a perfect matching exists.

    Raises:
        SearchExhaustedError: Too many candidate pairs.
    """
    as_set = policy.rows == "set"
    if set(groups[0]) != set(groups[1]) or (not as_set and Counter(groups[0]) != Counter(groups[1])):
        return False
    members: dict[Hashable, tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
    for side, (rows, keys) in enumerate(zip((predicted, gold), groups, strict=True)):
        for row, group in zip(rows, keys, strict=True):
            members[group][side].append(row)
    match = _cover_group if as_set else _match_group
    return all(match(rows_p, rows_g, policy) for rows_p, rows_g in members.values())


def _cover_group(predicted: list[Row], gold: list[Row], policy: ComparisonPolicy) -> bool:
    """Whether every row of either side is within the tolerance of some row of the other."""
    edges = _edges(predicted, gold, policy)
    return all(edges) and len({j for partners in edges for j in partners}) == len(gold)


def _match_group(predicted: list[Row], gold: list[Row], policy: ComparisonPolicy) -> bool:
    """Match the rows of one group: equal rows first, then an assignment over what is left."""
    keys_p = [tuple(map(key, row)) for row in predicted]
    keys_g = [tuple(map(key, row)) for row in gold]
    if not leftovers(keys_p, keys_g)[0]:
        return True
    edges = _edges(predicted, gold, policy)
    return all(edges) and _has_perfect_matching(edges, len(gold))


def _has_perfect_matching(edges: list[list[int]], gold_count: int) -> bool:
    """Whether every predicted row can have a gold row of its own.

    Rows take the first free partner, in sorted order, which settles nearly all of them; the rest look for an
    augmenting path.
    """
    owner: list[int | None] = [None] * gold_count
    waiting = []
    for row, partners in enumerate(edges):
        free = next((partner for partner in partners if owner[partner] is None), None)
        if free is None:
            waiting.append(row)
        else:
            owner[free] = row
    steps = [EDGE_BUDGET]
    return all(_augment(row, edges, owner, steps) for row in waiting)


def _augment(start: int, edges: list[list[int]], owner: list[int | None], steps: list[int]) -> bool:
    """Free a partner for one row along an alternating path, depth first without recursion."""
    seen: set[int] = set()
    path: list[tuple[int, int]] = []
    stack = [(start, iter(edges[start]))]
    while stack:
        row, partners = stack[-1]
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
        path.append((row, partner))
        holder = owner[partner]
        if holder is None:
            for taker, taken in path:
                owner[taken] = taker
            return True
        stack.append((holder, iter(edges[holder])))
    return False


def _edges(predicted: list[Row], gold: list[Row], policy: ComparisonPolicy) -> list[list[int]]:
    """The gold rows within the tolerance of every predicted row, found through a window on one numeric column.

    Both come in ascending order of that column.
    """
    column = _window_column([*predicted, *gold])
    budget = EDGE_BUDGET
    if column is None:
        if len(predicted) * len(gold) > budget:
            raise SearchExhaustedError
        return [[j for j, other in enumerate(gold) if _rows_close(row, other, policy)] for row in predicted]
    ordered = sorted(range(len(gold)), key=lambda j: gold[j][column])
    values = [gold[j][column] for j in ordered]
    result = []
    for row in sorted(predicted, key=lambda row: row[column]):
        value = row[column]
        reach = max(policy.abs_tol, policy.rel_tol * abs(float(value)) * (1 + 1e-6) / max(1 - policy.rel_tol, 1e-9))
        reach += 1e-12 * abs(float(value))
        window = range(bisect_left(values, float(value) - reach), bisect_right(values, float(value) + reach))
        budget -= len(window)
        if budget < 0:
            raise SearchExhaustedError
        result.append([ordered[k] for k in window if _rows_close(row, gold[ordered[k]], policy)])
    return result


def _window_column(rows: list[Row]) -> int | None:
    """The column of plain finite numbers with the most distinct values, or `None`."""
    best, best_count = None, 1
    for column in range(len(rows[0])):
        values = [row[column] for row in rows]
        if all(map(_orderable, values)) and len(set(values)) > best_count:
            best, best_count = column, len(set(values))
    return best


def _orderable(value: object) -> bool:
    """Whether a cell is a number that can be sorted."""
    return is_number(value) and not is_nan(value)


def _rows_close(a: Row, b: Row, policy: ComparisonPolicy) -> bool:
    """Whether all cells of two rows are within the tolerance."""
    return all(close(x, y, policy.rel_tol, policy.abs_tol) for x, y in zip(a, b, strict=True))
