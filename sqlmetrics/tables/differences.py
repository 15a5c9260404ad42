"""Why two tables differ: reason codes, and a few rows and cells that show it."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from sqlmetrics.results import ReasonCode
from sqlmetrics.tables.columns import ColumnSearch, fold_name, may_permute, pair_by_name
from sqlmetrics.tables.policy import ComparisonPolicy
from sqlmetrics.tables.rows import SearchExhaustedError, Unified, leftovers, same_multiset
from sqlmetrics.tables.table import Row, Table
from sqlmetrics.tables.values import is_nan, is_number, key

__all__ = ["Differences", "find_differences"]

SHOWN_ROWS = 3
EXPLAINED_ROWS = 100


class Differences(NamedTuple):
    """What differs between two tables.

    Attributes:
        codes: Reason codes, the leading one first.
        pairing: For every gold column the predicted column that it was held against, or `None`.
        missing_row_count: Gold rows without an equal predicted row, on the paired columns.
        extra_row_count: Predicted rows without an equal gold row, on the paired columns.
        missing_rows: A few of the gold rows without partner.
        extra_rows: A few of the predicted rows without partner.
        missing_columns: Names of gold columns that no predicted column answers.
        extra_columns: Names of predicted columns that answer none.
    """

    codes: tuple[ReasonCode, ...]
    pairing: tuple[int | None, ...]
    missing_row_count: int = 0
    extra_row_count: int = 0
    missing_rows: tuple[Row, ...] = ()
    extra_rows: tuple[Row, ...] = ()
    missing_columns: tuple[str, ...] = ()
    extra_columns: tuple[str, ...] = ()


def find_differences(
    predicted: Table, gold: Table, unified: Unified, policy: ComparisonPolicy, *, ordered: bool
) -> Differences:
    """Explain why two tables are not equal under a policy.

    Args:
        predicted: The predicted table.
        gold: The gold table.
        unified: Both sides as keys.
        policy: The policy they were compared under.
        ordered: Whether row order counted.

    Returns:
        The codes and a bounded sample of what differs.
    """
    pairing = _pairing_to_show(predicted, gold, unified)
    paired = [(p, g) for g, p in enumerate(pairing) if p is not None]
    keys_p = _select(unified.predicted, [p for p, _ in paired], len(predicted.columns))
    keys_g = _select(unified.gold, [g for _, g in paired], len(gold.columns))
    rest_p, rest_g = leftovers(keys_p, keys_g)
    codes = [
        *_empty_codes(predicted, gold),
        *_column_codes(predicted, gold, policy),
        *(_row_codes(keys_p, keys_g, rest_p, rest_g, ordered=ordered) if paired else ()),
        *_permutation_code(unified, policy),
    ]
    if paired and rest_p and len(rest_p) == len(rest_g) <= EXPLAINED_ROWS:
        rows_p = [tuple([predicted.rows[i][p] for p, _ in paired]) for i in rest_p]
        rows_g = [tuple([gold.rows[i][g] for _, g in paired]) for i in rest_g]
        codes += _cell_codes(rows_p, rows_g)
    answered = {p for p, _ in paired}
    return Differences(
        codes=tuple(dict.fromkeys(_leading_first(codes))) or (ReasonCode.VALUES_DIFFER,),
        pairing=pairing,
        missing_row_count=len(rest_g),
        extra_row_count=len(rest_p),
        missing_rows=tuple(gold.rows[i] for i in rest_g[:SHOWN_ROWS]),
        extra_rows=tuple(predicted.rows[i] for i in rest_p[:SHOWN_ROWS]),
        missing_columns=tuple(name for g, name in enumerate(gold.columns) if pairing[g] is None),
        extra_columns=tuple(name for p, name in enumerate(predicted.columns) if p not in answered),
    )


def _select(rows: list[Row], positions: list[int], width: int) -> list[Row]:
    """The rows with only some of their cells; the rows themselves if that changes nothing."""
    if positions == list(range(width)):
        return rows
    return [tuple([row[position] for position in positions]) for row in rows]


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


def _pairing_to_show(predicted: Table, gold: Table, unified: Unified) -> tuple[int | None, ...]:
    """Pair columns for an explanation: by position if widths agree and no name contradicts, else by name and value."""
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
        names = same_multiset(*(tuple(map(fold_name, table.columns)) for table in (predicted, gold)))
        return [ReasonCode.COLUMN_ORDER] if names else [ReasonCode.MISSING_COLUMNS, ReasonCode.EXTRA_COLUMNS]
    return []


def _row_codes(
    keys_p: list[Row], keys_g: list[Row], rest_p: list[int], rest_g: list[int], *, ordered: bool
) -> list[ReasonCode]:
    """Codes for rows in another order, in another number, or without partner."""
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


def _permutation_code(unified: Unified, policy: ComparisonPolicy) -> list[ReasonCode]:
    """`column_order` if some permutation of the columns makes the rows agree."""
    rows_p, rows_g = unified.predicted, unified.gold
    if len(rows_p) != len(rows_g) or not rows_g or len(rows_p[0]) != len(rows_g[0]) or not may_permute(unified):
        return []
    try:
        pairing = ColumnSearch(unified, policy, None).find({})
    except SearchExhaustedError:
        return []
    return [ReasonCode.COLUMN_ORDER] if pairing and list(pairing) != sorted(pairing) else []


def _cell_codes(rows_p: list[Row], rows_g: list[Row]) -> list[ReasonCode]:
    """Codes for rows that differ in one respect only: type, case, white space, NULL, rounding, a single cell."""
    codes = []
    if len(rows_p) == 1:
        different = sum(key(a) != key(b) for a, b in zip(rows_p[0], rows_g[0], strict=True))
        if different == 1:
            codes.append(ReasonCode.SINGLE_CELL_DIFFERENCE)
    for code, normal in _NORMALISERS:
        normal_g = [tuple([key(normal(v)) for v in row]) for row in rows_g]
        if tuple([key(normal(v)) for v in rows_p[0]]) not in normal_g:  # settles nearly all
            continue
        if same_multiset([tuple([key(normal(v)) for v in row]) for row in rows_p], normal_g):
            codes.append(code)
    for code, alike in _LIKENESSES:
        if _all_paired(rows_p, rows_g, alike):
            codes.append(code)
    return codes


def _as_value(value: Any) -> Any:
    """Read text as the number or the date that it spells."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if not isinstance(value, str):
        return value
    try:
        number = Decimal(value.strip())
    except InvalidOperation:
        pass
    else:
        return number if number.is_finite() else value
    try:
        return dt.datetime.fromisoformat(value.strip())
    except ValueError:
        return value


def _fold(value: Any) -> Any:
    """Drop letter case."""
    return value.casefold() if isinstance(value, str) else value


def _squeeze(value: Any) -> Any:
    """Drop white space at the ends and repeated white space."""
    return " ".join(value.split()) if isinstance(value, str) else value


_NORMALISERS: tuple[tuple[ReasonCode, Callable[[Any], Any]], ...] = (
    (ReasonCode.TYPE_ONLY, _as_value),
    (ReasonCode.CASE_ONLY, _fold),
    (ReasonCode.WHITESPACE_ONLY, _squeeze),
)


def _equal_or_null(a: Any, b: Any) -> bool:
    """Whether two cells agree, or one of them is NULL."""
    return a is None or b is None or key(a) == key(b)


def _equal_or_rounded(a: Any, b: Any) -> bool:
    """Whether two cells agree, or agree to the decimals of the coarser one."""
    if key(a) == key(b):
        return True
    if not (is_number(a) and is_number(b)) or isinstance(a, bool) or isinstance(b, bool) or is_nan(a) or is_nan(b):
        return False
    x, y = Decimal(repr(a) if isinstance(a, float) else a), Decimal(repr(b) if isinstance(b, float) else b)
    if not (x.is_finite() and y.is_finite()):
        return False
    places = min(_places(x), _places(y))
    both_whole = _places(x) == 0 and _places(y) == 0
    return not both_whole and abs(x - y) <= Decimal(1).scaleb(-places)


def _places(number: Decimal) -> int:
    """How many decimals a number has."""
    exponent = number.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


_LIKENESSES: tuple[tuple[ReasonCode, Callable[[Any, Any], bool]], ...] = (
    (ReasonCode.NULL_ONLY, _equal_or_null),
    (ReasonCode.ROUNDING_ONLY, _equal_or_rounded),
)


def _all_paired(rows_p: list[Row], rows_g: list[Row], alike: Callable[[Any, Any], bool]) -> bool:
    """Whether the rows can be paired one to one so that all cells are alike (first fit, so a sufficient test)."""
    free = list(rows_g)
    for row in rows_p:
        partner = next((other for other in free if all(map(alike, row, other))), None)
        if partner is None:
            return False
        free.remove(partner)
    return True
