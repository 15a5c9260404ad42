"""Rows: do two lists of rows agree as multisets, as sets, or block by block?

Two ways lead there. Where the tolerance is an equivalence on the numbers that occur (nearly always: a relative 1e-9
splits them into clear clusters), every number is replaced by its cluster and rows are compared by hashing. Otherwise
exact matches are taken out first and the rest is matched by an assignment within the tolerance.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain
from typing import Any

from sqlmetrics.tables.assignment import EDGE_BUDGET, SearchExhaustedError, has_perfect_matching, largest_matching
from sqlmetrics.tables.clusters import find_clusters, find_numbers
from sqlmetrics.tables.policy import ComparisonPolicy
from sqlmetrics.tables.table import Row
from sqlmetrics.tables.values import close, is_nan, is_number, key

__all__ = [
    "SearchExhaustedError",
    "Unified",
    "leftovers",
    "leftovers_within_tolerance",
    "match_within_tolerance",
    "rows_close",
    "same_multiset",
    "storage_key",
    "storage_keys",
    "unify",
]

PLAIN_TYPES = frozenset({int, float, str, bool, bytes, type(None)})
"""Types whose values are their own keys, NaN apart."""

PLAIN_WHOLES = frozenset({int, bool})


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


def storage_key(value: Any) -> tuple[str, Hashable]:
    """A key that also tells storage classes apart: 1, 1.0 and '1' are three different cells."""
    return ("int" if isinstance(value, int) else type(value).__name__, key(value))


def storage_keys(rows: Iterable[Row]) -> list[Row]:
    """Rows with the storage key of every cell."""
    return [tuple(map(storage_key, row)) for row in rows]


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
        cluster_of, exact = find_clusters(*find_numbers(chain(predicted, gold)), policy)
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
    floats = {value for row in chain(predicted, gold) for value in row if type(value) is float}
    if any(map(math.isnan, floats)):
        return None
    if not (policy.rel_tol or policy.abs_tol):
        return Unified(list(predicted), list(gold), exact=True, raw=True)
    wholes = {value for row in chain(predicted, gold) for value in row if type(value) in PLAIN_WHOLES}
    cluster_of, exact = find_clusters(floats, wholes, policy)
    if not cluster_of:
        return Unified(list(predicted), list(gold), exact=True, raw=True)
    get = cluster_of.get
    return Unified(
        [tuple([get(value, value) for value in row]) for row in predicted],
        [tuple([get(value, value) for value in row]) for row in gold],
        exact=exact,
    )


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
    _, edges = _edges(predicted, gold, policy)
    return all(edges) and len({j for partners in edges for j in partners}) == len(gold)


def _match_group(predicted: list[Row], gold: list[Row], policy: ComparisonPolicy) -> bool:
    """Match the rows of one group: equal rows first, then an assignment over what is left."""
    keys_p = [tuple(map(key, row)) for row in predicted]
    keys_g = [tuple(map(key, row)) for row in gold]
    if not leftovers(keys_p, keys_g)[0]:
        return True
    _, edges = _edges(predicted, gold, policy)
    return all(edges) and has_perfect_matching(edges, len(gold))


def leftovers_within_tolerance(
    predicted: Sequence[Row],
    gold: Sequence[Row],
    groups: tuple[Sequence[Hashable], Sequence[Hashable]],
    policy: ComparisonPolicy,
) -> tuple[list[int], list[int]]:
    """Take rows that are within the tolerance out of both sides, one for one, as many as possible.

    Args:
        predicted: Predicted rows, already projected on the gold's columns.
        gold: Gold rows.
        groups: A key for every row of either side; rows can only match where these keys agree.
        policy: Gives the tolerances.

    Returns:
        The positions of the predicted rows, and of the gold rows, that found no partner.

    Raises:
        SearchExhaustedError: Too many candidate pairs.
    """
    members: dict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, keys in enumerate(groups):
        for position, group in enumerate(keys):
            members[group][side].append(position)
    rest_p: list[int] = []
    rest_g: list[int] = []
    for positions_p, positions_g in members.values():
        order, edges = _edges([predicted[i] for i in positions_p], [gold[j] for j in positions_g], policy)
        owner = largest_matching(edges, len(positions_g))
        taken = {item for item in owner if item is not None}
        rest_p += [positions_p[order[item]] for item in range(len(order)) if item not in taken]
        rest_g += [position for item, position in zip(owner, positions_g, strict=True) if item is None]
    return sorted(rest_p), sorted(rest_g)


def _edges(predicted: list[Row], gold: list[Row], policy: ComparisonPolicy) -> tuple[list[int], list[list[int]]]:
    """Find the gold rows within the tolerance of every predicted row, through a window on one numeric column.

    Returns:
        The positions of the predicted rows and for each of them its partners, both in ascending order of that
        column, so that the first free partner is nearly always a good one.
    """
    column = _window_column([*predicted, *gold])
    budget = EDGE_BUDGET
    if column is None:
        if len(predicted) * len(gold) > budget:
            raise SearchExhaustedError
        edges = [[j for j, other in enumerate(gold) if rows_close(row, other, policy)] for row in predicted]
        return list(range(len(predicted))), edges
    order = sorted(range(len(predicted)), key=lambda i: predicted[i][column])
    partners = sorted(range(len(gold)), key=lambda j: gold[j][column])
    values = [gold[j][column] for j in partners]
    edges = []
    for row in map(predicted.__getitem__, order):
        window = _window(values, row[column], policy)
        budget -= len(window)
        if budget < 0:
            raise SearchExhaustedError
        edges.append([partners[k] for k in window if rows_close(row, gold[partners[k]], policy)])
    return order, edges


def _window(values: list[Any], value: Any, policy: ComparisonPolicy) -> range:
    """Where the values that can be within the tolerance of a value stand in ascending order."""
    try:
        middle = float(value)
    except OverflowError:
        middle = math.inf
    if math.isinf(middle):  # beyond float nothing is said about the distance
        return range(len(values))
    reach = max(policy.abs_tol, policy.rel_tol * abs(middle) * (1 + 1e-6) / max(1 - policy.rel_tol, 1e-9))
    reach += 1e-12 * abs(middle)
    return range(bisect_left(values, middle - reach), bisect_right(values, middle + reach))


def _window_column(rows: list[Row]) -> int | None:
    """The column of plain numbers with the most distinct values, or `None`."""
    best, best_count = None, 1
    for column in range(len(rows[0])):
        values = [row[column] for row in rows]
        if all(map(_orderable, values)) and len(set(values)) > best_count:
            best, best_count = column, len(set(values))
    return best


def _orderable(value: object) -> bool:
    """Whether a cell is a number that can be sorted."""
    return is_number(value) and not is_nan(value)


def rows_close(a: Row, b: Row, policy: ComparisonPolicy) -> bool:
    """Whether all cells of two rows are within the tolerance."""
    return all(close(x, y, policy.rel_tol, policy.abs_tol) for x, y in zip(a, b, strict=True))
