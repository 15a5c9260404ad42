"""BIRD's prediction file: a JSON map from index to `SQL<TAB>----- bird -----<TAB>db_id`."""

from __future__ import annotations

import json
import os

from sqlmetrics.errors import FormatError
from sqlmetrics.evaluation.formats.base import Prediction, read_text

__all__ = ["SEPARATOR", "read_bird_predictions"]

SEPARATOR = "\t----- bird -----\t"


def read_bird_predictions(path: str | os.PathLike[str]) -> list[Prediction]:
    """Read BIRD's predictions; they are paired by key, never by their place in the file.

    Args:
        path: The JSON file.

    Returns:
        One prediction an entry. An entry without the separator names no database; null, a number and an empty text
        stand for "no answer".

    Raises:
        FormatError: The file is no JSON object.
    """
    try:
        # The outermost object comes last, as its list of pairs: a dict would lose an index that occurs twice.
        entries = json.loads(read_text(path), object_pairs_hook=list)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{os.fspath(path)}: no valid JSON ({error}).") from error
    if not isinstance(entries, list) or not all(isinstance(entry, tuple) for entry in entries):
        raise FormatError(f"{os.fspath(path)}: expected an object from index to SQL.")
    seen: set[str] = set()
    for key, _ in entries:
        if key in seen:
            raise FormatError(f"{os.fspath(path)}: the index {key!r} occurs more than once.")
        seen.add(key)
    return [_prediction(key, entry) for key, entry in entries]


def _prediction(key: str, entry: object) -> Prediction:
    """Split one entry at the separator."""
    if not isinstance(entry, str):
        return Prediction(key, None)
    sql, separator, db_id = entry.partition(SEPARATOR)
    return Prediction(key, sql if sql.strip() else None, db_id.strip() or None if separator else None)
