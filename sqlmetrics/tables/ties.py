"""Blocks of rows that tie, and answers that a cut tie allows."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from itertools import groupby

from sqlmetrics.tables.columns import Pairing, pair_by_name, project
from sqlmetrics.tables.policy import ComparisonPolicy
from sqlmetrics.tables.rows import unify
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
        policy: Cells are compared under its tolerances; its `order` says whether blocks must come in order.

    Returns:
        Whether every block is answered by rows of that block, as many as the gold takes from it.
    """
    offset, count = window
    if len(predicted.rows) != count or len(predicted.columns) != len(columns):
        return False
    unified = unify(predicted.rows, [row[:-1] for row in ranked], policy)
    ranks = [row[-1] for row in ranked]
    pools: dict[int, Counter[Row]] = defaultdict(Counter)
    for rank, row in zip(ranks, unified.gold, strict=True):
        pools[rank][row] += 1
    wanted = ranks[offset : offset + count]
    names = pair_by_name(predicted.columns, columns)
    pairings: list[Pairing] = [tuple(range(len(columns)))]
    if len(names) == len(columns):
        pairings.append(tuple(names[position] for position in range(len(columns))))
    ordered = policy.order != "ignore"
    return any(_fits(project(unified.predicted, pairing), wanted, pools, ordered=ordered) for pairing in pairings)


def _fits(rows: list[Row], wanted: list[int], pools: dict[int, Counter[Row]], *, ordered: bool) -> bool:
    """Whether rows can be drawn from the pools: each place from the pool of its rank, or each pool often enough."""
    left = {rank: Counter(pools[rank]) for rank in set(wanted)}
    if ordered:
        for row, rank in zip(rows, wanted, strict=True):
            left[rank][row] -= 1
            if left[rank][row] < 0:
                return False
        return True
    need = Counter(wanted)
    # Whole blocks first: their rows are all needed, so what remains must come from the blocks that are cut.
    for row in rows:
        options = [rank for rank in need if need[rank] > 0 and left[rank][row] > 0]
        if not options:
            return False
        rank = min(options, key=lambda option: left[option].total() - need[option])
        left[rank][row] -= 1
        need[rank] -= 1
    return True
