"""Blocks of rows that tie, and answers that a cut tie allows."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Sequence
from itertools import chain, groupby, pairwise

from sqlmetrics.tables.assignment import EDGE_BUDGET, SearchExhaustedError, has_perfect_matching
from sqlmetrics.tables.columns import ColumnSearch, Pairing, fixed_pairs, project
from sqlmetrics.tables.policy import ComparisonPolicy
from sqlmetrics.tables.rows import rows_close, unify
from sqlmetrics.tables.table import Row, Table
from sqlmetrics.tables.values import key

__all__ = ["accepted_by_ties", "blocks_from_columns", "blocks_from_ranks"]


def blocks_from_columns(gold: Table, positions: Sequence[int]) -> list[int]:
    """Number the runs of gold rows that agree on the given columns.

    Args:
        gold: The gold table, in its order.
        positions: The columns that are its ORDER BY keys.

    Returns:
        For every row the number of its block.

    Examples:
        >>> blocks_from_columns(Table(["a"], [(3,), (3,), (1,)]), [0])
        [0, 0, 1]
    """
    keys = [tuple(key(row[position]) for position in positions) for row in gold.rows]
    blocks: list[int] = []
    for number, (_, run) in enumerate(groupby(keys)):
        blocks += [number] * len(list(run))
    return blocks


def blocks_from_ranks(gold: Table, ranked: Sequence[Row]) -> list[int] | None:
    """Give every gold row the rank that the ranked query reports for an equal row.

    Args:
        gold: The gold table, in its order.
        ranked: The rows of the ranked query: the gold's cells and the rank, in order.

    Returns:
        For every gold row its rank, never falling; `None` if the ranked query does not tell the same story. A row
        that the ranked query broke off before (it tied at the cut) gets the last rank.
    """
    if not ranked:
        return None
    waiting: dict[Row, deque[int]] = defaultdict(deque)
    for row in ranked:
        waiting[tuple(map(key, row[:-1]))].append(row[-1])
    blocks: list[int] = []
    for row in gold.rows:
        ranks = waiting.get(tuple(map(key, row)))
        rank = ranks.popleft() if ranks else ranked[-1][-1]
        if blocks and rank < blocks[-1]:
            return None
        blocks.append(rank)
    return blocks


def accepted_by_ties(
    predicted: Table, ranked: Sequence[Row], columns: Sequence[str], window: tuple[int, int], policy: ComparisonPolicy
) -> bool:
    """Whether a prediction is one of the answers that the ties at the gold's LIMIT allow.

    Args:
        predicted: The predicted table.
        ranked: All rows of the gold without its LIMIT, each with its rank as last cell, in order.
        columns: The gold's column names.
        window: Offset and number of rows of the gold's result.
        policy: Cells are compared and columns paired as it says; its `order` says whether blocks must come in order.

    Returns:
        Whether every block is answered by rows of that block, as many as the gold takes from it; `False` as well
        if that cannot be found out within the search budget.
    """
    offset, count = window
    ranks = [row[-1] for row in ranked]
    surplus = len(predicted.columns) - len(columns)
    if len(predicted.rows) != count or offset + count > len(ranks) or any(a > b for a, b in pairwise(ranks)):
        return False
    if surplus < 0 or (surplus and not policy.extra_columns):
        return False
    if policy.column_names and predicted.columns != tuple(columns):
        return False
    allowed = _AllowedAnswers(ranks, window, ordered=policy.order != "ignore")
    pool = Table.trusted(tuple(columns), [ranked[place][:-1] for place in allowed.places])
    try:
        return not count or _TieSearch(predicted, pool, allowed, policy).succeeds()
    except SearchExhaustedError:
        return False


class _AllowedAnswers:
    """What the ties allow: from every block that the window touches so many of its rows.

    Attributes:
        places: Where the rows of those blocks stand in the ranked rows; together they are the pool.
        ranks: The rank of every row of the pool.
        wanted: The rank at every place of the answer.
        ordered: Whether every row of the answer must come from the block at its place.
    """

    def __init__(self, ranks: Sequence[int], window: tuple[int, int], *, ordered: bool) -> None:
        """Count what the window takes from every block."""
        offset, count = window
        self.wanted = ranks[offset : offset + count]
        self._need = Counter(self.wanted)
        self.places = [place for place, rank in enumerate(ranks) if rank in self._need]
        self.ranks = [ranks[place] for place in self.places]
        self.ordered = ordered

    def hold(self, answer: Sequence[Hashable], pool: Sequence[Hashable]) -> bool:
        """Whether an answer is allowed, judged by a key for each of its rows and for every row of the pool."""
        blocks: dict[int, Counter[Hashable]] = {rank: Counter() for rank in self._need}
        for rank, row in zip(self.ranks, pool, strict=True):
            blocks[rank][row] += 1
        if not self.ordered:
            return self._can_share(Counter(answer), blocks)
        for rank, row in zip(self.wanted, answer, strict=True):
            blocks[rank][row] -= 1
            if blocks[rank][row] < 0:
                return False
        return True

    def _can_share(self, answer: Counter[Hashable], blocks: dict[int, Counter[Hashable]]) -> bool:
        """Whether an answer in any order can be shared out among the blocks.

        Whole blocks are needed with all their rows. A window cuts at most its first and its last block, and of
        every row the first of these takes no less than the second cannot, and no more than it has.
        """
        cut = [rank for rank, block in blocks.items() if block.total() > self._need[rank]]
        for rank, block in blocks.items():
            if rank not in cut:
                answer.subtract(block)
        first, second = [*(blocks[rank] for rank in cut), Counter[Hashable](), Counter[Hashable]()][:2]
        if any(not 0 <= times <= first[row] + second[row] for row, times in answer.items()):
            return False
        least = sum(max(0, times - second[row]) for row, times in answer.items())
        most = sum(min(times, first[row]) for row, times in answer.items())
        return least <= (self._need[cut[0]] if cut else 0) <= most

    def can_assign(self, partners: Sequence[Sequence[int]]) -> bool:
        """Whether every row of an answer can have a row of the pool to itself, from each block as many as needed.

        Args:
            partners: For every row of the answer the rows of the pool that it may be.

        Raises:
            SearchExhaustedError: There are too many possible pairs.
        """
        edges = [
            [place for place in options if not self.ordered or self.ranks[place] == rank]
            for options, rank in zip(partners, self.wanted, strict=True)
        ]
        useful: dict[int, list[int]] = {rank: [] for rank in self._need}
        for place in sorted(set(chain.from_iterable(edges))):
            useful[self.ranks[place]].append(place)
        # What the answer leaves in a block is taken by fillers, so that no block gives more than its share.
        for rank, places in useful.items():
            fillers = len(places) - self._need[rank]
            if fillers < 0:
                return False
            if fillers * len(places) > EDGE_BUDGET:
                raise SearchExhaustedError
            edges += [places] * fillers
        return all(edges) and has_perfect_matching(edges, len(self.ranks))


class _TieSearch(ColumnSearch):
    """Finds a pairing of columns under which a prediction is an allowed answer."""

    def __init__(self, predicted: Table, pool: Table, allowed: _AllowedAnswers, policy: ComparisonPolicy) -> None:
        """Bring both sides to keys."""
        self._unified = unify(predicted.rows, pool.rows, policy)
        super().__init__(self._unified, policy, None, self._confirm)
        self._predicted = predicted
        self._pool = pool
        self._allowed = allowed
        self._policy = policy

    def succeeds(self) -> bool:
        """Whether there is such a pairing, as far as the policy lets position, names and values decide."""
        fixed = fixed_pairs(self._predicted.columns, self._pool.columns, self._policy)
        return any(self.find(pairs) is not None for pairs in fixed)

    def _alike(self, options: dict[int, list[int]]) -> dict[int, list[int]]:
        """For every gold column those of its options whose values the pool could have given."""
        return {
            g: [p for p in positions if self._agree(self._columns_p[p], self._columns_g[g])]
            for g, positions in options.items()
        }

    def _agree(self, keys_p: Sequence[Hashable], keys_g: Sequence[Hashable]) -> bool:
        """Whether the predicted rows can still be an allowed answer."""
        self._spend(len(keys_p) + len(keys_g))
        return self._allowed.hold(keys_p, keys_g)

    def _confirm(self, pairing: Pairing) -> bool:
        """Whether the cells agree too, where equal keys do not say so."""
        if self._unified.exact:
            return True
        places: dict[Row, list[int]] = defaultdict(list)
        for place, keys in enumerate(self._unified.gold):
            places[keys].append(place)
        partners = []
        rows = zip(project(self._predicted.rows, pairing), project(self._unified.predicted, pairing), strict=True)
        for row, keys in rows:
            self._spend(len(places[keys]))
            partners.append([p for p in places[keys] if rows_close(row, self._pool.rows[p], self._policy)])
        return self._allowed.can_assign(partners)
