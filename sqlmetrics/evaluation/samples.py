"""One item of a data set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from sqlmetrics.errors import FormatError

__all__ = ["Sample", "check_samples", "is_unanswered", "known_names", "unique_ids"]

_ALIASES = {
    "question": "user_input",
    "question_id": "id",
    "predicted_sql": "response",
    "prediction": "response",
    "gold_sql": "reference",
    "gold": "reference",
    "query": "reference",
    "SQL": "reference",
    "sql": "reference",
}
"""Other names of a key; `sql` is the gold in a data set, and the prediction in a file of predictions."""
_SCALARS = (str, int, float, bool, type(None))


@dataclass(slots=True, kw_only=True)
class Sample:
    """One question with its prediction and its gold.

    Args:
        id: What the item is called; predictions and golds are paired by it.
        user_input: The question.
        response: The predicted SQL or its result; `None` if the model gave no answer.
        reference: The gold SQL or its result; a list where there are several right ones.
        db_id: Which database of a catalog.
        database: The database itself, if the item brings its own.
        reference_contexts: Schema text.
        metadata: Any further keys (difficulty, category); a summary can be broken down by them.

    Examples:
        >>> Sample.from_mapping({"id": 7, "gold_sql": "SELECT 1", "difficulty": "easy"}).metadata
        {'difficulty': 'easy'}
    """

    id: str = ""
    user_input: str | None = None
    response: Any = None
    reference: Any = None
    db_id: str | None = None
    database: Any = None
    reference_contexts: Any = None
    metadata: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_mapping(cls, row: Mapping[str, Any], position: int = 0, *, sql_is: str = "reference") -> Sample:
        """Build a sample from a dict.

        `question`, `question_id`, `predicted_sql`, `prediction`, `gold_sql`, `gold`, `query` and `SQL` or `sql` are
        understood too; keys that are none of a sample's become metadata.

        Args:
            row: The dict.
            position: Its place in the data set, which becomes its id if it has none.
            sql_is: What a key `sql` stands for: `reference`, or `response` in a file of predictions.

        Returns:
            The sample.

        Raises:
            FormatError: It is no dict, or its `metadata` is none.
        """
        if not isinstance(row, Mapping):
            raise FormatError(f"Expected item {position} to be a dict or a Sample, but got {type(row).__name__}.")
        given = row.get("metadata")
        if given is not None and not isinstance(given, Mapping):
            raise FormatError(f"Expected `metadata` of item {position} to be a dict, but got {given!r}.")
        metadata: dict[str, Any] = dict(given or {})
        names = known_names(row, sql_is=sql_is)
        values: dict[str, Any] = {name: row[key] for name, key in names.items()}
        used = {*names.values(), "metadata"}
        metadata |= {str(key): value for key, value in row.items() if key not in used}
        identifier = values.get("id")
        values["id"] = str(position) if identifier is None or identifier == "" else str(identifier)
        return cls(**values, metadata=metadata)

    def arguments(self) -> dict[str, Any]:
        """The arguments of a metric's `ascore`; an empty answer counts as none."""
        return {
            "user_input": self.user_input,
            "response": None if is_unanswered(self.response) else self.response,
            "reference": self.reference,
            "db_id": self.db_id,
            "database": self.database,
            "reference_contexts": self.reference_contexts,
        }

    def group(self, key: str) -> str:
        """The group that this item belongs to when a summary is broken down by a key."""
        value = self.db_id if key == "db_id" else self.metadata.get(key)
        return str(value) if isinstance(value, _SCALARS) else repr(value)


def known_names(row: Mapping[str, Any], *, sql_is: str = "reference") -> dict[str, str]:
    """Which key of a dict holds which field of a sample.

    Args:
        row: The dict.
        sql_is: What a key `sql` stands for.

    Returns:
        Keys of the dict by field name; a field's own name wins over its other names.

    Examples:
        >>> known_names({"question_id": 1, "SQL": "SELECT 1", "level": "easy"})
        {'id': 'question_id', 'reference': 'SQL'}
    """
    names = {entry.name: entry.name for entry in fields(Sample) if entry.name != "metadata" and entry.name in row}
    for key in row:
        name = sql_is if str(key).lower() == "sql" else _ALIASES.get(str(key))
        if name is not None:
            names.setdefault(name, key)
    return names


def check_samples(samples: Sequence[Sample], source: str, *, predictions: bool = False) -> None:
    """Make sure that a data set has golds, and predictions where they should be in it.

    Raises:
        FormatError: No item has one; the message says which keys are understood.
    """
    if all(sample.reference is None for sample in samples):
        keys = ", ".join(samples[0].metadata) or "none other"
        raise FormatError(
            f"{source}: no item has a gold. Expected a key `reference`, `gold_sql`, `gold`, `query` or `sql`; "
            f"keys that were not understood: {keys}."
        )
    if predictions and all(sample.response is None for sample in samples):
        raise FormatError(
            f"{source}: no item has a prediction. Expected a key `response`, `prediction` or `predicted_sql`, or a "
            "file of predictions (--predictions)."
        )


def is_unanswered(response: Any) -> bool:
    """Whether a prediction stands for "no answer": null, an empty text, or a number such as 0."""
    if response is None or isinstance(response, int | float):
        return True
    return isinstance(response, str) and not response.strip()


def unique_ids(samples: Iterable[Sample], source: str) -> Iterator[Sample]:
    """Pass samples through and make sure that no id comes twice.

    Raises:
        FormatError: One does; the message names it and the source.
    """
    seen: set[str] = set()
    for sample in samples:
        if sample.id in seen:
            raise FormatError(f"{source}: the id {sample.id!r} occurs more than once; ids must be unique.")
        seen.add(sample.id)
        yield sample
