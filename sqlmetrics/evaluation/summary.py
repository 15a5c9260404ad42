"""Sums over judged items: means with counts beside them, overall and by any key."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmetrics.results import MetricResult, ReasonCode, Status

__all__ = ["GroupSummary", "Summary", "summarise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSummary:
    """What one metric says of one group of items.

    Attributes:
        metric: The metric's name.
        group: The group's keys and values; empty for all items.
        item_count: Items in the group.
        judged_count: Items with a value.
        mean: Mean over judged items; `None` if there is none.
        strict_mean: Mean over all items, an unjudged one counting 0; `None` if there is no item.
        status_counts: How often each status occurs, most frequent first.
        empty_pass_count: Passed items of which both results are empty: a pass that says little.
    """

    metric: str
    group: dict[str, str]
    item_count: int
    judged_count: int
    mean: float | None
    strict_mean: float | None
    status_counts: dict[str, int]
    empty_pass_count: int

    @property
    def non_empty_mean(self) -> float | None:
        """Mean over judged items where a pass of empty against empty counts 0."""
        if self.mean is None:
            return None
        return (self.mean * self.judged_count - self.empty_pass_count) / self.judged_count


class Summary(list[GroupSummary]):
    """The summaries of all metrics and groups, the overall ones first."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as plain dicts, for JSON or a DataFrame."""
        return [
            {
                "metric": row.metric,
                "group": row.group,
                "n": row.item_count,
                "judged": row.judged_count,
                "mean": row.mean,
                "strict_mean": row.strict_mean,
                "non_empty_mean": row.non_empty_mean,
                "empty_passes": row.empty_pass_count,
                "statuses": row.status_counts,
            }
            for row in self
        ]


def summarise(
    metric: str, results: Iterable[tuple[tuple[str, ...], MetricResult]], keys: Sequence[str] = ()
) -> list[GroupSummary]:
    """Sum up one metric's results.

    Args:
        metric: The metric's name.
        results: For every item its values of the keys, and its result.
        keys: The keys that groups are made of; none for one overall row.

    Returns:
        One row a group, in the order in which the groups first occur.

    Examples:
        >>> right = MetricResult(value=1.0, reason="equal")
        >>> broken = MetricResult(value=None, reason="the gold fails", status="gold_error")
        >>> row = summarise("ex", [((), right), ((), broken)])[0]
        >>> row.mean, row.strict_mean, row.judged_count
        (1.0, 0.5, 1)
    """
    groups: dict[tuple[str, ...], list[MetricResult]] = defaultdict(list)
    for values, result in results:
        groups[values].append(result)
    return [_summary(metric, dict(zip(keys, values, strict=True)), members) for values, members in groups.items()]


def _summary(metric: str, group: dict[str, str], results: list[MetricResult]) -> GroupSummary:
    """Sum up one group."""
    values = [result.value for result in results if result.value is not None]
    total = sum(values)
    return GroupSummary(
        metric=metric,
        group=group,
        item_count=len(results),
        judged_count=len(values),
        mean=total / len(values) if values else None,
        strict_mean=total / len(results) if results else None,
        status_counts=dict(Counter(result.status.value for result in results).most_common()),
        empty_pass_count=sum(map(_is_empty_pass, results)),
    )


def _is_empty_pass(result: MetricResult) -> bool:
    """Whether an item passed because both results are empty."""
    codes = getattr(result.details, "reason_codes", ())
    return result.status == Status.OK and bool(result.value) and ReasonCode.BOTH_EMPTY in codes
