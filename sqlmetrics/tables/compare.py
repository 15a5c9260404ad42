"""Two result tables, compared under a policy.

`match_tables` gives the verdict and is what runs for every pair; `compare` adds why.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from decimal import InvalidOperation
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

from sqlmetrics.results import ReasonCode
from sqlmetrics.tables.columns import ColumnSearch, Pairing, may_permute, pair_by_name, project, rows_agree
from sqlmetrics.tables.differences import Differences, find_differences
from sqlmetrics.tables.policy import ComparisonPolicy
from sqlmetrics.tables.rows import PLAIN_TYPES, SearchExhaustedError, Unified, rows_close, same_multiset, unify
from sqlmetrics.tables.table import Row, Table

__all__ = ["Match", "TableComparison", "compare", "match_tables"]

DEFAULT = ComparisonPolicy()


class Match(NamedTuple):
    """A bare verdict.

    Attributes:
        equal: Whether the tables are equal under the policy; `None` if the search passed its budget.
        pairing: For every gold column its predicted column, if equal. It ends early where an empty prediction has
            fewer columns than an empty gold and the policy does not mind.
        same_sequence: Whether the rows also come in the same sequence, if equal.
        unified: Both sides as keys, if those were needed; an explanation can start from them.
    """

    equal: bool | None
    pairing: Pairing | None = None
    same_sequence: bool = True
    unified: Unified | None = None


class TableComparison(NamedTuple):
    """A verdict and why.

    Attributes:
        equal: Whether the tables are equal under the policy; `None` if that could not be decided.
        codes: Reason codes, the leading one first.
        pairing: For every gold column its predicted column; `None` for a column without partner.
        same_sequence: Whether the rows come in the same sequence.
        differences: Rows and cells that differ; `None` if equal.
    """

    equal: bool | None
    codes: tuple[ReasonCode, ...]
    pairing: tuple[int | None, ...]
    same_sequence: bool = True
    differences: Differences | None = None


def compare(
    predicted: Table,
    gold: Table,
    policy: ComparisonPolicy = DEFAULT,
    *,
    blocks: Sequence[int] | None = None,
) -> TableComparison:
    """Compare two result tables under a policy and say why they differ.

    Args:
        predicted: The predicted table.
        gold: The gold table.
        policy: The choices to compare under.
        blocks: If row order counts, for every gold row the number of its block: rows of one block tie and may
            come in any order, blocks may not. `None` if order does not count.

    Returns:
        The verdict with reason codes and a few differing rows.

    Examples:
        >>> gold = Table(["town", "n"], [("Lund", 1), ("Bari", 2)])
        >>> compare(Table(["n", "town"], [(2, "Bari"), (1, "Lund")]), gold).equal
        True
        >>> compare(Table(["town", "n"], [("Lund", 2), ("Bari", 1)]), gold).equal
        False
        >>> compare(Table(["town"], [("Lund",)]), gold).codes[0].value
        'missing_columns'
    """
    match = match_tables(predicted, gold, policy, blocks=blocks)
    if match.equal:
        pairing = match.pairing or ()
        unanswered = (None,) * (len(gold.columns) - len(pairing))
        codes = _equal_codes(predicted, gold, match)
        return TableComparison(True, codes, (*pairing, *unanswered), match.same_sequence)
    unified = match.unified or unify(predicted.rows, gold.rows, policy)
    differences = find_differences(predicted, gold, unified, policy, blocks=blocks)
    return TableComparison(match.equal, differences.codes, differences.pairing, False, differences)


def _equal_codes(predicted: Table, gold: Table, match: Match) -> tuple[ReasonCode, ...]:
    """What is worth knowing about an equal pair."""
    codes = []
    if not gold.rows and not predicted.rows:
        codes.append(ReasonCode.BOTH_EMPTY)
    if match.pairing and list(match.pairing) != sorted(match.pairing):
        codes.append(ReasonCode.COLUMN_ORDER)
    if len(predicted.columns) > len(gold.columns):
        codes.append(ReasonCode.EXTRA_COLUMNS)
    return tuple(codes)


def match_tables(
    predicted: Table,
    gold: Table,
    policy: ComparisonPolicy = DEFAULT,
    *,
    blocks: Sequence[int] | None = None,
) -> Match:
    """Say whether two tables are equal under a policy.

    Args:
        predicted: The predicted table.
        gold: The gold table.
        policy: The choices to compare under.
        blocks: As in `compare`.

    Returns:
        The verdict, the column pairing that shows it, and whether the row sequence agrees too.
    """
    if not _shapes_fit(predicted, gold, policy):
        return Match(False)
    if not gold.rows and not predicted.rows:
        width = min(len(predicted.columns), len(gold.columns))  # they may differ where both are empty
        return Match(True, tuple(range(width)))
    same_width = len(predicted.columns) == len(gold.columns)
    if same_width and policy.types == "value":
        quick = _match_raw(predicted, gold, policy, blocks)
        if quick is not None:
            return quick
    try:
        return _match_keys(predicted, gold, policy, blocks)
    except SearchExhaustedError:
        return Match(None)


def _identity(gold: Table) -> Pairing:
    """Every gold column answered by the predicted column in its place."""
    return tuple(range(len(gold.columns)))


def _shapes_fit(predicted: Table, gold: Table, policy: ComparisonPolicy) -> bool:
    """Whether the numbers of rows and columns and, where asked for, the names allow the tables to be equal."""
    surplus = len(predicted.columns) - len(gold.columns)
    both_empty = not predicted.rows and not gold.rows
    if surplus and not (surplus > 0 and policy.extra_columns) and not (both_empty and not policy.empty_width):
        return False
    if policy.rows == "multiset" and len(predicted.rows) != len(gold.rows):
        return False
    if policy.rows == "set" and bool(predicted.rows) != bool(gold.rows):
        return False
    return not policy.column_names or predicted.columns == gold.columns


def _match_raw(predicted: Table, gold: Table, policy: ComparisonPolicy, blocks: Sequence[int] | None) -> Match | None:
    """Compare the drivers' own tuples by position; `None` if that does not settle it."""
    try:
        same_sequence = predicted.rows == gold.rows
        if not same_sequence and not _raw_rows_agree(predicted.rows, gold.rows, policy, blocks):
            return None
    except (TypeError, ValueError, InvalidOperation):  # lists and maps do not hash, a signalling NaN does not compare
        return None
    if predicted.rows is not gold.rows and _ignores_fold(predicted.rows, gold.rows):
        return None
    return Match(True, _identity(gold), same_sequence)


def _raw_rows_agree(
    predicted: list[Row], gold: list[Row], policy: ComparisonPolicy, blocks: Sequence[int] | None
) -> bool:
    """Whether the rows agree as they are, whatever their sequence."""
    if policy.rows == "set":
        return set(predicted) == set(gold)
    if blocks is not None:
        return same_multiset(list(zip(blocks, predicted, strict=True)), list(zip(blocks, gold, strict=True)))
    return same_multiset(predicted, gold)


def _ignores_fold(predicted: list[Row], gold: list[Row]) -> bool:
    """Whether rows that Python takes as equal may be different moments.

    Python compares two times of one zone by the clock alone, so that the hour which comes twice when summer time
    ends counts as one. A column that begins with a plain value is taken to hold no times: the columns of a driver
    are of one type, or SQLite's, which has no times. Looking at every cell would take longer than comparing them.
    """
    for column, value in enumerate(gold[0]):
        if type(value) in PLAIN_TYPES and value is not None:
            continue
        cell = itemgetter(column)
        if set(map(type, map(cell, gold))) <= PLAIN_TYPES:
            continue
        if _any_fold(map(cell, gold)) or _any_fold(map(cell, predicted)):
            return True
    return False


def _any_fold(values: Iterable[Any]) -> bool:
    """Whether a time occurs that is the second of its clock reading."""
    for value in values:
        if isinstance(value, dt.datetime):
            if value.fold:
                return True
        elif isinstance(value, list | tuple | set | frozenset):
            if _any_fold(value):
                return True
        elif isinstance(value, dict) and (_any_fold(value) or _any_fold(value.values())):
            return True
    return False


def _match_keys(predicted: Table, gold: Table, policy: ComparisonPolicy, blocks: Sequence[int] | None) -> Match:
    """Compare by keys: by position, then by name and value, then by value alone, as far as the policy allows."""
    unified = unify(predicted.rows, gold.rows, policy)
    blocks = blocks if policy.rows == "multiset" else None

    def agree(pairing: Pairing) -> bool:
        return rows_agree(predicted, gold, unified, pairing, policy, blocks)

    identity = _identity(gold)
    same_width = len(predicted.columns) == len(identity)
    # Raw keys were compared by position before, unless storage classes count (then keys are never raw).
    if same_width and not unified.raw and agree(identity):
        return Match(True, identity, _same_sequence(predicted, gold, unified, identity, policy))
    if policy.columns == "position" or not may_permute(unified, extra_columns=policy.extra_columns):
        return Match(False, unified=unified)
    by_name = pair_by_name(predicted.columns, gold.columns)
    settled = same_width and len(by_name) == len(identity) and all(p == g for g, p in by_name.items())
    accept = agree if not unified.exact else (lambda pairing: True)  # noqa: ARG005
    search = ColumnSearch(unified, policy, blocks, accept)
    pairing = None if settled else search.find(by_name)
    if pairing is None and policy.columns == "any":
        pairing = search.find({})
    if pairing is None:
        return Match(False, unified=unified)
    return Match(True, pairing, _same_sequence(predicted, gold, unified, pairing, policy))


def _same_sequence(predicted: Table, gold: Table, unified: Unified, pairing: Pairing, policy: ComparisonPolicy) -> bool:
    """Whether the rows come in the same order."""
    if unified.exact:
        return project(unified.predicted, pairing) == unified.gold
    rows = project(predicted.rows, pairing)
    return len(rows) == len(gold.rows) and all(map(partial(rows_close, policy=policy), rows, gold.rows))
