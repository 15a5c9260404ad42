"""One item of a data set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from sqlmetrics.errors import FormatError

__all__ = ["Sample", "unique_ids"]

_ALIASES = {
    "question": "user_input",
    "question_id": "id",
    "predicted_sql": "response",
    "prediction": "response",
    "gold_sql": "reference",
    "gold": "reference",
    "query": "reference",
    "SQL": "reference",
}
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
    def from_mapping(cls, row: Mapping[str, Any], position: int = 0) -> Sample:
        """Build a sample from a dict; common other names of a key are understood, unknown keys become metadata.

        Args:
            row: The dict.
            position: Its place in the data set, which becomes its id if it has none.

        Returns:
            The sample.

        Raises:
            FormatError: It is no dict, or its `metadata` is none.
        """
        if not isinstance(row, Mapping):
            raise FormatError(f"Expected item {position} to be a dict or a Sample, but got {type(row).__name__}.")
        known = {entry.name for entry in fields(cls)} - {"metadata"}
        values: dict[str, Any] = {}
        given = row.get("metadata")
        if given is not None and not isinstance(given, Mapping):
            raise FormatError(f"Expected `metadata` of item {position} to be a dict, but got {given!r}.")
        metadata: dict[str, Any] = dict(given or {})
        for key, value in row.items():
            if key == "metadata":
                continue
            name = key if key in known else _ALIASES.get(str(key))
            if name is not None and name not in values and not (name != key and name in row):
                values[name] = value
            else:
                metadata[str(key)] = value
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
