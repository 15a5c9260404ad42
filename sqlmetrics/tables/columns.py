"""Columns: which predicted column answers which gold column?

Pairs are tried in the order: by position, by name, by value. No permutation is ever enumerated: a gold column's
candidates are the columns with the same values, and partial pairings are dropped as soon as their rows disagree.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence

from sqlmetrics.tables.policy import ComparisonPolicy
from sqlmetrics.tables.rows import SearchExhaustedError, Unified, match_within_tolerance, same_multiset
from sqlmetrics.tables.table import Row, Table

__all__ = [
    "ColumnSearch",
    "Pairing",
    "fixed_pairs",
    "fold_name",
    "may_permute",
    "pair_by_name",
    "project",
    "rows_agree",
]

Pairing = tuple[int, ...]
"""For every gold column the position of its predicted column."""

CELL_BUDGET = 2_000_000


def fold_name(name: str) -> str:
    """Bring a column name to the form in which names are compared: no qualifier, no quotes, no case.

    Examples:
        >>> fold_name('T1."Name"'), fold_name("COUNT( * )")
        ('name', 'count(*)')
    """
    text = name.strip().casefold()
    if "(" in text:
        return "".join(text.split())
    return text.rpartition(".")[2].strip("\"`[] '") or text


def pair_by_name(predicted: Sequence[str], gold: Sequence[str]) -> dict[int, int]:
    """Pair the k-th predicted column of a name with the k-th gold column of that name.

    Args:
        predicted: Predicted column names.
        gold: Gold column names.

    Returns:
        Predicted position by gold position, for names that occur on both sides.

    Examples:
        >>> pair_by_name(["n", "City"], ["city", "n", "total"])
        {0: 1, 1: 0}
    """
    waiting: dict[str, list[int]] = defaultdict(list)
    for position, name in enumerate(predicted):
        waiting[fold_name(name)].append(position)
    pairs = {}
    for position, name in enumerate(gold):
        queue = waiting.get(fold_name(name))
        if queue:
            pairs[position] = queue.pop(0)
    return pairs


def fixed_pairs(predicted: Sequence[str], gold: Sequence[str], policy: ComparisonPolicy) -> list[dict[int, int]]:
    """What a policy lets decide about columns, in its order: position, then names, then values alone.

    Args:
        predicted: Predicted column names.
        gold: Gold column names.
        policy: Says how columns are paired.

    Returns:
        For each attempt the predicted position by gold position that it fixes; the rest is paired by value.

    Examples:
        >>> fixed_pairs(["n", "City"], ["city", "n"], ComparisonPolicy())
        [{0: 0, 1: 1}, {0: 1, 1: 0}]
    """
    width = len(gold)
    fixed = [{position: position for position in range(width)}] if len(predicted) == width else []
    if policy.columns != "position":
        fixed.append(pair_by_name(predicted, gold))
    if policy.columns == "any":
        fixed.append({})
    return fixed


def may_permute(unified: Unified, *, extra_columns: bool = False) -> bool:
    """A quick look at whether any pairing of columns could make the rows agree.

    Args:
        unified: Both sides as keys.
        extra_columns: Whether predicted rows may hold more cells than gold rows.

    Returns:
        `False` if the first row of a side has no row with the same cells on the other side.

    Examples:
        >>> may_permute(Unified([("y", 2)], [(2, "y")], exact=True)), may_permute(Unified([(1,)], [(2,)], exact=True))
        (True, False)
    """
    if not unified.gold or not unified.predicted:
        return False
    cells = frozenset(unified.gold[0])
    if extra_columns:
        return any(cells.issubset(row) for row in unified.predicted)
    if not any(cells == frozenset(row) for row in unified.predicted):
        return False
    cells = frozenset(unified.predicted[0])
    return any(cells == frozenset(row) for row in unified.gold)


class ColumnSearch:
    """Finds a pairing under which the rows agree, or proves that there is none.

    Args:
        unified: Both sides as keys.
        policy: Whether duplicates count.
        blocks: For every row its block, if the order of blocks counts; the same for both sides.
        accept: Confirms a complete pairing, where equal keys alone do not decide.

    Raises:
        SearchExhaustedError: The search passed its budget (only adversarial tables do that).
    """

    def __init__(
        self,
        unified: Unified,
        policy: ComparisonPolicy,
        blocks: Sequence[int] | None,
        accept: Callable[[Pairing], bool] = lambda pairing: True,  # noqa: ARG005
    ) -> None:
        """Lay both tables out by column."""
        self._accept = accept
        self._exact = unified.exact
        self._collect: Callable[[Sequence[Hashable]], object] = frozenset if policy.rows == "set" else Counter
        self._columns_p = list(zip(*unified.predicted, strict=True))
        self._columns_g = list(zip(*unified.gold, strict=True))
        self._start_p: list[int] = list(blocks) if blocks is not None else [0] * len(unified.predicted)
        self._start_g: list[int] = list(blocks) if blocks is not None else [0] * len(unified.gold)
        cells = len(unified.gold) * len(self._columns_g)
        self._budget = CELL_BUDGET + 10 * cells

    def find(self, fixed: dict[int, int]) -> Pairing | None:
        """Complete a partial pairing by value.

        Args:
            fixed: Predicted position by gold position, for columns whose pairing is given.

        Returns:
            For every gold column its predicted column, or `None` if no pairing makes the rows agree.
        """
        candidates = self._candidates(fixed)
        if any(not options for options in candidates.values()):
            return None
        order = sorted(candidates, key=lambda gold: len(candidates[gold]))
        chosen: dict[int, int] = {}
        if self._extend(order, candidates, chosen, (self._start_p, self._start_g)):
            return tuple(chosen[gold] for gold in range(len(order)))
        return None

    def _candidates(self, fixed: dict[int, int]) -> dict[int, list[int]]:
        """For every gold column the predicted columns with the same values."""
        free = sorted(set(range(len(self._columns_p))) - set(fixed.values()))
        options = {gold: [fixed[gold]] if gold in fixed else free for gold in range(len(self._columns_g))}
        return self._alike(options)

    def _alike(self, options: dict[int, list[int]]) -> dict[int, list[int]]:
        """For every gold column those of its options that hold the same values."""
        bags_p = {p: self._collect(column) for p, column in enumerate(self._columns_p)}
        bags_g = {g: self._collect(column) for g, column in enumerate(self._columns_g)}
        return {g: [p for p in positions if bags_p[p] == bags_g[g]] for g, positions in options.items()}

    def _extend(
        self,
        order: list[int],
        candidates: dict[int, list[int]],
        chosen: dict[int, int],
        rows: tuple[list[int], list[int]],
    ) -> bool:
        """Choose a column for the next gold column, depth first."""
        if len(chosen) == len(order):
            if not self._exact:
                self._spend(len(order) * (len(rows[0]) + len(rows[1])))
            return self._accept(tuple(chosen[gold] for gold in range(len(order))))
        gold = order[len(chosen)]
        for option in self._distinct_options(candidates[gold], set(chosen.values())):
            refined = self._refine(rows, option, gold)
            if refined is None:
                continue
            chosen[gold] = option
            if self._extend(order, candidates, chosen, refined):
                return True
            del chosen[gold]
        return False

    def _distinct_options(self, options: list[int], used: set[int]) -> Iterator[int]:
        """Unused candidates, of identical columns only the first if equal keys are equal cells."""
        seen: set[tuple[Hashable, ...]] = set()
        for option in options:
            if option in used:
                continue
            column = self._columns_p[option]
            if not self._exact or len(options) == 1 or column not in seen:
                seen.add(column)
                yield option

    def _refine(self, rows: tuple[list[int], list[int]], option: int, gold: int) -> tuple[list[int], list[int]] | None:
        """Split the groups of rows by one more column; `None` if the sides no longer agree."""
        self._spend(len(rows[0]) + len(rows[1]))
        numbers: dict[tuple[int, Hashable], int] = {}
        refined_p = _number_pairs(rows[0], self._columns_p[option], numbers)
        refined_g = _number_pairs(rows[1], self._columns_g[gold], numbers)
        return (refined_p, refined_g) if self._agree(refined_p, refined_g) else None

    def _agree(self, keys_p: Sequence[Hashable], keys_g: Sequence[Hashable]) -> bool:
        """Whether both sides can still be matched, judged by a key for every row."""
        return self._collect(keys_p) == self._collect(keys_g)

    def _spend(self, cells: int) -> None:
        """Take a number of cells from the budget."""
        self._budget -= cells
        if self._budget < 0:
            raise SearchExhaustedError


def _number_pairs(groups: list[int], column: Sequence[Hashable], numbers: dict[tuple[int, Hashable], int]) -> list[int]:
    """Give every (group, value) its number; the dictionary is shared by both sides."""
    return [numbers.setdefault(pair, len(numbers)) for pair in zip(groups, column, strict=True)]


def project(rows: Sequence[Row], pairing: Pairing) -> list[Row]:
    """The predicted rows with their columns in the gold's order."""
    return [tuple([row[position] for position in pairing]) for row in rows]


def rows_agree(
    predicted: Table,
    gold: Table,
    unified: Unified,
    pairing: Pairing,
    policy: ComparisonPolicy,
    blocks: Sequence[int] | None,
) -> bool:
    """Whether the rows agree under one pairing of columns.

    Args:
        predicted: The predicted table.
        gold: The gold table.
        unified: Both sides as keys.
        pairing: For every gold column its predicted column.
        policy: Gives the tolerances, and whether duplicates count.
        blocks: For every row its block, if the order of blocks counts.

    Raises:
        SearchExhaustedError: Equal keys do not decide, and too many pairs of rows would have to be tried.
    """
    keys_p, keys_g = project(unified.predicted, pairing), unified.gold
    if blocks is not None:
        keys_p = [(block, *row) for block, row in zip(blocks, keys_p, strict=True)]
        keys_g = [(block, *row) for block, row in zip(blocks, keys_g, strict=True)]
    if not unified.exact:
        return match_within_tolerance(project(predicted.rows, pairing), gold.rows, (keys_p, keys_g), policy)
    return set(keys_p) == set(keys_g) if policy.rows == "set" else same_multiset(keys_p, keys_g)
