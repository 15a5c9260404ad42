"""Which format is this file in? Found by its name and content."""

from __future__ import annotations

import os
from pathlib import Path

from sqlmetrics.errors import FormatError
from sqlmetrics.evaluation.formats.base import Prediction, read_text
from sqlmetrics.evaluation.formats.bird import read_bird_predictions
from sqlmetrics.evaluation.formats.csv import read_csv
from sqlmetrics.evaluation.formats.jsonl import read_jsonl
from sqlmetrics.evaluation.formats.spider import read_spider_gold, read_spider_predictions
from sqlmetrics.evaluation.samples import Sample, is_unanswered, known_names, unique_ids

__all__ = ["join_predictions", "load_samples", "paired_by_place", "read_predictions"]

LINE_SUFFIXES = frozenset({".sql", ".txt"})
SHOWN_STRANGERS = 5


def load_samples(path: str | os.PathLike[str], *, id_key: str | None = None) -> list[Sample]:
    """Read a data set: JSONL, CSV, a JSON list of objects, or Spider's gold lines.

    Args:
        path: The file; its ending says what it is (`.jsonl`, `.json`, `.csv`, `.sql` or `.txt`).
        id_key: Which key is the id, instead of `id` or `question_id`.

    Returns:
        The samples, in the order of the file.

    Raises:
        FormatError: The file is missing, empty, of an unknown kind or broken, or an id occurs twice.
    """
    source = Path(path)
    suffix = source.suffix.lower()
    if suffix in LINE_SUFFIXES:
        samples = read_spider_gold(source)
    else:
        rows = _read_rows(source)
        if id_key is not None:
            rows = [_with_id(row, id_key, f"{source}, item {number}") for number, row in enumerate(rows, start=1)]
        samples = [Sample.from_mapping(row, position) for position, row in enumerate(rows)]
    if not samples:
        raise FormatError(f"{source}: there is no item in this file.")
    return list(unique_ids(samples, str(source)))


def _with_id(row: dict[str, object], id_key: str, place: str) -> dict[str, object]:
    """Make one key the id.

    Raises:
        FormatError: The item lacks it.
    """
    if not isinstance(row, dict) or id_key not in row:
        raise FormatError(f"{place}: there is no key {id_key!r}.")
    return {**row, "id": row[id_key]}


def _read_rows(path: Path) -> list[dict[str, object]]:
    """Read the objects of a JSONL, JSON or CSV file.

    Raises:
        FormatError: It is none of those.
    """
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return read_csv(path)
    if suffix in (".jsonl", ".ndjson"):
        return read_jsonl(path)
    if suffix == ".json":
        import json

        try:
            rows = json.loads(read_text(path))
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{path}: no valid JSON ({error}).") from error
        if not isinstance(rows, list):
            raise FormatError(f"{path}: expected a list of objects; BIRD's prediction map goes with --predictions.")
        return rows
    raise FormatError(f"{path}: unknown ending {suffix!r}; expected .jsonl, .json, .csv, .sql or .txt.")


def read_predictions(path: str | os.PathLike[str]) -> list[Prediction]:
    """Read a prediction file: BIRD's JSON map, JSONL or CSV with ids, or Spider's lines.

    Args:
        path: The file.

    Returns:
        The predictions.

    Raises:
        FormatError: The file is broken or of an unknown kind.
    """
    source = Path(path)
    suffix = source.suffix.lower()
    if suffix in LINE_SUFFIXES:
        return read_spider_predictions(source)
    if suffix == ".json" and read_text(source).lstrip().startswith("{"):
        return read_bird_predictions(source)
    rows = _read_rows(source)
    samples = [Sample.from_mapping(row, position, sql_is="response") for position, row in enumerate(rows)]
    if rows and not any("response" in known_names(row, sql_is="response") for row in rows):
        raise FormatError(
            f"{source}: no item has a prediction; its keys are {_first(rows[0])}, expected `response`, `prediction`, "
            "`predicted_sql` or `sql`."
        )
    return [Prediction(sample.id, sample.response, sample.db_id) for sample in samples]


def paired_by_place(path: str | os.PathLike[str]) -> bool:
    """Whether a prediction file has no ids, so that its n-th entry answers the n-th gold.

    Raises:
        FormatError: The file is broken or of an unknown kind.
    """
    source = Path(path)
    if source.suffix.lower() in LINE_SUFFIXES:
        return True
    if source.suffix.lower() == ".json" and read_text(source).lstrip().startswith("{"):
        return False
    rows = _read_rows(source)
    return bool(rows) and not any("id" in known_names(row) for row in rows)


def join_predictions(
    samples: list[Sample], predictions: list[Prediction], source: str, *, by_line: bool
) -> tuple[list[Sample], list[str]]:
    """Give every sample its prediction, by id.

    Args:
        samples: The golds.
        predictions: The predictions.
        source: The prediction file's name, for messages.
        by_line: Whether the ids are mere places, so that the counts have to agree and the n-th answers the n-th.

    Returns:
        The samples with predictions, and a note for every prediction that does not fit (a missing or surplus id,
        another database than the gold's).

    Raises:
        FormatError: An id occurs twice, no id agrees, the counts of line files differ, or every prediction names
            another database than its gold.
    """
    answered = [prediction for prediction in predictions if prediction.response is not None]
    if by_line and len(predictions) != len(samples) == len(answered):  # blank lines that only set others apart
        predictions = [prediction._replace(id=str(place)) for place, prediction in enumerate(answered)]
    by_id = {prediction.id: prediction for prediction in predictions}
    if len(by_id) != len(predictions):
        seen: set[str] = set()
        doubled = next(p.id for p in predictions if p.id in seen or seen.add(p.id))  # type: ignore[func-returns-value]
        raise FormatError(f"{source}: the id {doubled!r} occurs more than once.")
    if by_line and len(predictions) != len(samples):
        raise FormatError(
            f"{source}: {len(predictions)} prediction lines against {len(samples)} golds; lines are paired by place, "
            "so the counts must agree. Write each query on one line, or use a format with ids."
        )
    if by_line:
        predictions = [p._replace(id=sample.id) for p, sample in zip(predictions, samples, strict=True)]
        by_id = {prediction.id: prediction for prediction in predictions}
    known = {sample.id for sample in samples}
    if not known & by_id.keys():
        raise FormatError(
            f"{source}: no prediction has an id of the data set (first ids: {_first(by_id)} and {_first(known)})."
        )
    notes = []
    surplus = [identifier for identifier in by_id if identifier not in known]
    if surplus:
        notes.append(f"Predictions without a gold, left out: {len(surplus)} ({_first(surplus)})")
    missing = [sample.id for sample in samples if sample.id not in by_id]
    if missing:
        notes.append(f"Golds without a prediction, which counts as missing: {len(missing)} ({_first(missing)})")
    return samples, notes + _fill_in(samples, by_id, source)


def _fill_in(samples: list[Sample], by_id: dict[str, Prediction], source: str) -> list[str]:
    """Put the predictions into the samples.

    Returns:
        A note for the first predictions that name another database than their gold.

    Raises:
        FormatError: All of those that name one do: they belong to another data set.
    """
    strangers, named = [], 0
    for sample in samples:
        prediction = by_id.get(sample.id)
        sample.response = None if prediction is None or is_unanswered(prediction.response) else prediction.response
        theirs = prediction.db_id if prediction else None
        if theirs and sample.db_id:
            named += 1
            if theirs != sample.db_id:
                strangers.append(f"id {sample.id}: the prediction names database {theirs!r}, the gold {sample.db_id!r}")
        sample.db_id = sample.db_id or theirs
    if named > 1 and len(strangers) == named:
        raise FormatError(
            f"{source}: every prediction names another database than its gold ({strangers[0]}); are these the right "
            "golds, and is the right key their id?"
        )
    more = len(strangers) - SHOWN_STRANGERS
    return strangers[:SHOWN_STRANGERS] + ([f"the same for {more} further ids"] if more > 0 else [])


def _first(ids: object) -> str:
    """The first few ids, for a message."""
    listed = [str(identifier) for identifier in ids]  # type: ignore[attr-defined]
    return ", ".join(listed[:5]) + (", …" if len(listed) > 5 else "")
