"""Why two tables differ: reason codes, and a few rows and cells that show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from sqlmetrics.results import ReasonCode
from sqlmetrics.tables.columns import ColumnSearch, Pairing, fixed_pairs, may_permute, pair_by_name, rows_agree
from sqlmetrics.tables.near_misses import near_miss_codes
from sqlmetrics.tables.policy import ComparisonPolicy
from sqlmetrics.tables.rows import (
    SearchExhaustedError,
    Unified,
    leftovers,
    leftovers_within_tolerance,
    rows_close,
    same_multiset,
)
from sqlmetrics.tables.table import Row, Table
from sqlmetrics.tables.values import key

__all__ = ["Differences", "find_differences"]

SHOWN_ROWS = 3
EXPLAINED_ROWS = 5_000


class Differences(NamedTuple):
    """What differs between two tables.

    Attributes:
        codes: Reason codes, the leading one first.
        pairing: For every gold column the predicted column that it was held against, or `None`.
        missing_row_count: Gold rows without an equal predicted row, on the paired columns.
        extra_row_count: Predicted rows without an equal gold row, on the paired columns.
        missing_rows: A few of the gold rows without partner.
        extra_rows: A few of the predicted rows without partner.
        missing_columns: Names of gold columns that no predicted column answers, or none of that name if names count.
        extra_columns: Names of predicted columns that answer none, or none of that name if names count.
        misplaced: Where the rows agree but not their order: the first place at which the two sequences part.
    """

    codes: tuple[ReasonCode, ...]
    pairing: tuple[int | None, ...]
    missing_row_count: int = 0
    extra_row_count: int = 0
    missing_rows: tuple[Row, ...] = ()
    extra_rows: tuple[Row, ...] = ()
    missing_columns: tuple[str, ...] = ()
    extra_columns: tuple[str, ...] = ()
    misplaced: int | None = None


class _Paired(NamedTuple):
    """Both sides on the columns that are held against each other."""

    rows_p: list[Row]
    rows_g: list[Row]
    keys_p: list[Row]
    keys_g: list[Row]


def find_differences(
    predicted: Table, gold: Table, unified: Unified, policy: ComparisonPolicy, *, blocks: Sequence[int] | None
) -> Differences:
    """Explain why two tables are not equal under a policy.

    Args:
        predicted: The predicted table.
        gold: The gold table.
        unified: Both sides as keys.
        policy: The policy they were compared under.
        blocks: For every gold row its block, if row order counted.

    Returns:
        The codes and a bounded sample of what differs.
    """
    pairing = _pairing_to_show(predicted, gold, unified, policy, ordered=blocks is not None)
    paired = [(p, g) for g, p in enumerate(pairing) if p is not None]
    sides = _on_pairs(predicted, gold, unified, paired)
    rest_p, rest_g = _without_partner(sides, unified, policy)
    codes = [
        *_empty_codes(predicted, gold),
        *_column_codes(predicted, gold, policy),
        *(_row_codes(sides, rest_p, rest_g, exact=unified.exact, ordered=blocks is not None) if paired else ()),
        *_permutation_code(predicted, gold, unified, policy),
    ]
    if paired and rest_p and len(rest_p) == len(rest_g) <= EXPLAINED_ROWS:
        codes += near_miss_codes([sides.rows_p[i] for i in rest_p], [sides.rows_g[i] for i in rest_g], policy)
    answered = {p: g for p, g in paired if not policy.column_names or predicted.columns[p] == gold.columns[g]}
    return Differences(
        codes=tuple(dict.fromkeys(_leading_first(codes))) or (ReasonCode.VALUES_DIFFER,),
        pairing=pairing,
        missing_row_count=len(rest_g),
        extra_row_count=len(rest_p),
        missing_rows=tuple(gold.rows[i] for i in rest_g[:SHOWN_ROWS]),
        extra_rows=tuple(predicted.rows[i] for i in rest_p[:SHOWN_ROWS]),
        missing_columns=tuple(name for g, name in enumerate(gold.columns) if g not in answered.values()),
        extra_columns=tuple(name for p, name in enumerate(predicted.columns) if p not in answered),
        misplaced=_first_misplaced(sides, unified, policy, blocks) if ReasonCode.ROW_ORDER in codes else None,
    )


def _on_pairs(predicted: Table, gold: Table, unified: Unified, paired: list[tuple[int, int]]) -> _Paired:
    """Take the paired columns of both sides."""
    positions_p, positions_g = [p for p, _ in paired], [g for _, g in paired]
    width_p, width_g = len(predicted.columns), len(gold.columns)
    return _Paired(
        _select(predicted.rows, positions_p, width_p),
        _select(gold.rows, positions_g, width_g),
        _select(unified.predicted, positions_p, width_p),
        _select(unified.gold, positions_g, width_g),
    )


def _select(rows: list[Row], positions: list[int], width: int) -> list[Row]:
    """The rows with only some of their cells; the rows themselves if that changes nothing."""
    if positions == list(range(width)):
        return rows
    return [tuple([row[position] for position in positions]) for row in rows]


def _without_partner(sides: _Paired, unified: Unified, policy: ComparisonPolicy) -> tuple[list[int], list[int]]:
    """The positions of the rows on both sides that find no partner."""
    if unified.exact:
        return leftovers(sides.keys_p, sides.keys_g)
    try:
        return leftovers_within_tolerance(sides.rows_p, sides.rows_g, (sides.keys_p, sides.keys_g), policy)
    except SearchExhaustedError:  # then rows that are not identical have to do
        return leftovers(_exact_keys(sides.rows_p), _exact_keys(sides.rows_g))


def _exact_keys(rows: list[Row]) -> list[Row]:
    """Rows as keys that know no tolerance."""
    return [tuple(map(key, row)) for row in rows]


def _first_misplaced(
    sides: _Paired, unified: Unified, policy: ComparisonPolicy, blocks: Sequence[int] | None
) -> int | None:
    """The first place whose predicted row is none of the gold's block there."""
    if not unified.exact:
        pairs = zip(sides.rows_p, sides.rows_g, strict=False)
        return next((place for place, (row, other) in enumerate(pairs) if not rows_close(row, other, policy)), None)
    left = Counter(zip(blocks or (), sides.keys_g, strict=False))
    for place, pair in enumerate(zip(blocks or (), sides.keys_p, strict=False)):
        left[pair] -= 1
        if left[pair] < 0:
            return place
    return None


_LEADERS = (
    ReasonCode.PREDICTION_EMPTY,
    ReasonCode.GOLD_EMPTY,
    ReasonCode.ROW_ORDER,
    ReasonCode.ROW_MULTIPLICITY,
    ReasonCode.MISSING_COLUMNS,
    ReasonCode.EXTRA_COLUMNS,
    ReasonCode.COLUMN_ORDER,
    ReasonCode.TYPE_ONLY,
    ReasonCode.CASE_ONLY,
    ReasonCode.WHITESPACE_ONLY,
    ReasonCode.NULL_ONLY,
    ReasonCode.ROUNDING_ONLY,
    ReasonCode.SINGLE_CELL_DIFFERENCE,
)


def _leading_first(codes: list[ReasonCode]) -> list[ReasonCode]:
    """Put the code that explains most in front."""
    return sorted(codes, key=lambda code: _LEADERS.index(code) if code in _LEADERS else len(_LEADERS))


def _search(
    predicted: Table, gold: Table, unified: Unified, policy: ComparisonPolicy, fixed: dict[int, int]
) -> Pairing | None:
    """Look for a pairing of columns under which the rows agree in some order; `None` as well if that takes long."""

    def agree(pairing: Pairing) -> bool:
        return unified.exact or rows_agree(predicted, gold, unified, pairing, policy, None)

    if not may_permute(unified, extra_columns=len(predicted.columns) > len(gold.columns)):
        return None
    try:
        return ColumnSearch(unified, policy, None, agree).find(fixed)
    except SearchExhaustedError:
        return None


def _pairing_to_show(
    predicted: Table, gold: Table, unified: Unified, policy: ComparisonPolicy, *, ordered: bool
) -> tuple[int | None, ...]:
    """Pair columns for an explanation.

    If only the order of rows can be wrong, that is the pairing which shows it. Otherwise columns are paired by
    position if widths agree and no name contradicts, else by name and value.
    """
    if ordered:
        for fixed in fixed_pairs(predicted.columns, gold.columns, policy):
            pairing = _search(predicted, gold, unified, policy, fixed)
            if pairing is not None:
                return pairing
    return _pairing_by_name(predicted, gold, unified)


def _pairing_by_name(predicted: Table, gold: Table, unified: Unified) -> tuple[int | None, ...]:
    """Pair columns by position if widths agree and no name contradicts, else by name, and the rest by value."""
    same_width = len(predicted.columns) == len(gold.columns)
    by_name: dict[int, int | None] = dict(pair_by_name(predicted.columns, gold.columns))
    if same_width and all(g == p for g, p in by_name.items()):
        return tuple(range(len(gold.columns)))
    free = [p for p in range(len(predicted.columns)) if p not in by_name.values()]
    bags = {p: Counter(row[p] for row in unified.predicted) for p in free}
    for g in range(len(gold.columns)):
        if g not in by_name:
            bag = Counter(row[g] for row in unified.gold)
            by_name[g] = next((p for p in free if bags[p] == bag), None)
            if by_name[g] is not None:
                free.remove(by_name[g])  # type: ignore[arg-type]
    if same_width:  # what is left answers what is left, in order
        for g in range(len(gold.columns)):
            if by_name[g] is None:
                by_name[g] = free.pop(0)
    return tuple(by_name[g] for g in range(len(gold.columns)))


def _empty_codes(predicted: Table, gold: Table) -> list[ReasonCode]:
    """Codes for results without rows."""
    if not predicted.rows and not gold.rows:
        return [ReasonCode.BOTH_EMPTY]
    if not gold.rows:
        return [ReasonCode.GOLD_EMPTY]
    return [] if predicted.rows else [ReasonCode.PREDICTION_EMPTY]


def _column_codes(predicted: Table, gold: Table, policy: ComparisonPolicy) -> list[ReasonCode]:
    """Codes for a different number of columns, or for names where those count."""
    surplus = len(predicted.columns) - len(gold.columns)
    if surplus:
        return [ReasonCode.EXTRA_COLUMNS if surplus > 0 else ReasonCode.MISSING_COLUMNS]
    if policy.column_names and predicted.columns != gold.columns:
        if same_multiset(predicted.columns, gold.columns):
            return [ReasonCode.COLUMN_ORDER]
        return [ReasonCode.MISSING_COLUMNS, ReasonCode.EXTRA_COLUMNS]
    return []


def _row_codes(sides: _Paired, rest_p: list[int], rest_g: list[int], *, exact: bool, ordered: bool) -> list[ReasonCode]:
    """Codes for rows in another order, in another number, or without partner."""
    keys_p, keys_g = sides.keys_p, sides.keys_g
    if not exact:  # equal keys do not mean equal rows there
        keys_p, keys_g = _exact_keys(sides.rows_p), _exact_keys(sides.rows_g)
    if not rest_p and not rest_g:
        return [ReasonCode.ROW_ORDER] if ordered and keys_p != keys_g else []
    codes = []
    if set(keys_p) == set(keys_g):
        codes.append(ReasonCode.ROW_MULTIPLICITY)
    if len(keys_g) > len(keys_p) or not rest_p:
        codes.append(ReasonCode.MISSING_ROWS)
    if len(keys_p) > len(keys_g) or not rest_g:
        codes.append(ReasonCode.EXTRA_ROWS)
    if rest_p and rest_g and ReasonCode.ROW_MULTIPLICITY not in codes:
        codes.append(ReasonCode.VALUES_DIFFER)
    return codes


def _permutation_code(predicted: Table, gold: Table, unified: Unified, policy: ComparisonPolicy) -> list[ReasonCode]:
    """`column_order` if some permutation of the columns makes the rows agree."""
    if len(predicted.rows) != len(gold.rows) or not gold.rows or len(predicted.columns) != len(gold.columns):
        return []
    pairing = _search(predicted, gold, unified, policy, {})
    return [ReasonCode.COLUMN_ORDER] if pairing and list(pairing) != sorted(pairing) else []
