"""What a metric returns: a value, a reason, a status and typed details."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, SerializeAsAny

__all__ = ["MetricDetails", "MetricResult", "ReasonCode", "Status"]


class Status(StrEnum):
    """How a judgement ended. A status compares equal to its text.

    The first group yields a value; `missing` yields 0.0 for a missing prediction and `None` for a missing
    reference; the others mean "could not be judged" and carry the value `None`.
    """

    OK = "ok"
    PRED_ERROR = "pred_error"
    PRED_TIMEOUT = "pred_timeout"
    REJECTED = "rejected"
    RESULT_TOO_LARGE = "result_too_large"
    MISSING = "missing"
    GOLD_ERROR = "gold_error"
    GOLD_TIMEOUT = "gold_timeout"
    DATABASE_ERROR = "database_error"
    PARSE_ERROR = "parse_error"
    JUDGE_REFUSED = "judge_refused"
    JUDGE_UNPARSABLE = "judge_unparsable"
    JUDGE_ERROR = "judge_error"
    UNDECIDED = "undecided"
    INTERNAL_CONFLICT = "internal_conflict"
    UNSUPPORTED = "unsupported"


class ReasonCode(StrEnum):
    """Why two result tables differ, or what is worth knowing about an equal pair."""

    ROW_ORDER = "row_order"
    ROW_MULTIPLICITY = "row_multiplicity"
    MISSING_ROWS = "missing_rows"
    EXTRA_ROWS = "extra_rows"
    MISSING_COLUMNS = "missing_columns"
    EXTRA_COLUMNS = "extra_columns"
    COLUMN_ORDER = "column_order"
    VALUES_DIFFER = "values_differ"
    SINGLE_CELL_DIFFERENCE = "single_cell_difference"
    TYPE_ONLY = "type_only"
    NULL_ONLY = "null_only"
    CASE_ONLY = "case_only"
    WHITESPACE_ONLY = "whitespace_only"
    ROUNDING_ONLY = "rounding_only"
    BOTH_EMPTY = "both_empty"
    GOLD_EMPTY = "gold_empty"
    PREDICTION_EMPTY = "prediction_empty"
    TIE_ACCEPTED = "tie_accepted"
    DISTINCT_STRIPPED = "distinct_stripped"


class MetricDetails(BaseModel):
    """The base of every metric's typed details."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class MetricResult(BaseModel):
    """One judgement: immutable, picklable and JSON-able.

    Args:
        value: The score in the metric's range, or `None` when the pair could not be judged.
        reason: One or two sentences that say what differs and where; never empty.
        status: How the judgement ended.
        details: The metric's own details model.

    Examples:
        >>> result = MetricResult(value=1.0, reason="The results are equal.")
        >>> float(result), bool(result), result.status == "ok"
        (1.0, True, True)
        >>> bool(MetricResult(value=None, reason="The gold query fails.", status="gold_error"))
        False
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: float | None
    reason: str
    status: Status = Status.OK
    details: SerializeAsAny[MetricDetails] | None = None

    @property
    def judged(self) -> bool:
        """Whether there is a value."""
        return self.value is not None

    def __float__(self) -> float:
        """Return the value.

        Raises:
            ValueError: The pair could not be judged, so there is no number.
        """
        if self.value is None:
            raise ValueError(f"there is no score ({self.status}): {self.reason}")
        return self.value

    def __bool__(self) -> bool:
        """Whether there is a value above zero; an unjudged pair is false."""
        return bool(self.value)

    def __repr__(self) -> str:
        """Show what a person reads first: value, status, reason."""
        return f"MetricResult(value={self.value}, status={self.status.value!r}, reason={self.reason!r})"

    __str__ = __repr__
