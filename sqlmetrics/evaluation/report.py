"""The outcome of an evaluation: results item by item, and sums over them."""

from __future__ import annotations

import csv
import json
import math
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlmetrics.errors import ConfigurationError, nearest
from sqlmetrics.evaluation.samples import Sample
from sqlmetrics.evaluation.summary import Summary, summarise
from sqlmetrics.results import MetricResult
from sqlmetrics.tables.describe import printable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EvaluationReport"]

_COLUMNS = ("id", "db_id", "metric", "value", "status", "reason", "response", "reference", "user_input")


class EvaluationReport:
    """Results of all items under all metrics, in the order of the data.

    Args:
        samples: The items.
        results: For every metric's name its results, one an item.
        by: Keys that a summary is broken down by unless told otherwise.
        notes: What was noticed while the data were read and paired.

    Examples:
        >>> samples = [Sample(id="1", metadata={"difficulty": "easy"}), Sample(id="2", metadata={"difficulty": "hard"})]
        >>> results = [MetricResult(value=1.0, reason="equal"), MetricResult(value=0.0, reason="values differ")]
        >>> report = EvaluationReport(samples, {"execution_accuracy": results})
        >>> [(row.group, row.mean) for row in report.summary(by="difficulty")]
        [({}, 0.5), ({'difficulty': 'easy'}, 1.0), ({'difficulty': 'hard'}, 0.0)]
    """

    def __init__(
        self,
        samples: Sequence[Sample],
        results: dict[str, list[MetricResult]],
        by: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> None:
        """Keep the results."""
        self.samples = list(samples)
        self.results = results
        self.by = tuple(by)
        self.notes = tuple(notes)

    def summary(self, by: str | Sequence[str] | None = None) -> Summary:
        """Sum up all items, and each group of them.

        Args:
            by: A key, or several; groups are made of each combination of their values. By default the keys that
                the evaluation was asked for.

        Returns:
            One row a metric for all items, then one row a metric and group.

        Raises:
            ConfigurationError: No item has such a key.
        """
        keys = self.by if by is None else (by,) if isinstance(by, str) else tuple(by)
        check_keys(keys, self.samples)
        summary = Summary()
        for metric, results in self.results.items():
            summary += summarise(metric, (((), result) for result in results))
        if keys:
            groups = [tuple(sample.group(key) for key in keys) for sample in self.samples]
            for metric, results in self.results.items():
                summary += summarise(metric, zip(groups, results, strict=True), keys)
        return summary

    def to_dicts(self) -> list[dict[str, Any]]:
        """One plain, JSON-able dict for every item and metric."""
        rows = []
        for metric, results in self.results.items():
            for sample, result in zip(self.samples, results, strict=True):
                row = {"id": sample.id, "db_id": sample.db_id, "metric": metric, **result.model_dump()}
                row |= {name: getattr(sample, name) for name in ("response", "reference", "user_input", "metadata")}
                rows.append(plain(row))
        return rows

    def to_pandas(self) -> pd.DataFrame:
        """One row for every item and metric, metadata as columns of their own.

        Returns:
            A DataFrame with the columns `id`, `db_id`, `metric`, `value`, `status`, `reason`, the item's texts and its
            metadata (a key that is also one of these names becomes `metadata.KEY`). An item that could not be
            judged has the value `None`.
        """
        import pandas as pd

        rows = []
        for row in self.to_dicts():
            fixed = {name: row[name] for name in (*_COLUMNS, "details")}
            extra = {f"metadata.{key}" if key in fixed else key: value for key, value in row["metadata"].items()}
            rows.append({**fixed, **extra})
        frame = pd.DataFrame(rows, columns=None if rows else [*_COLUMNS, "details"])
        frame["value"] = frame["value"].astype("Float64")
        return frame

    def save(self, directory: str | os.PathLike[str]) -> Path:
        """Write `results.jsonl`, `results.csv` and `summary.json`.

        Args:
            directory: Where to; made if it does not exist. Files of these names are replaced.

        Returns:
            The directory.

        Raises:
            ConfigurationError: The directory cannot be made or written to.
        """
        target = writable_directory(directory)
        rows = self.to_dicts()
        try:
            with (target / "results.jsonl").open("w", encoding="utf-8") as file:
                file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            with (target / "results.csv").open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, _COLUMNS, extrasaction="ignore")
                writer.writeheader()
                writer.writerows(rows)
            summary = plain({"notes": list(self.notes), "summary": self.summary().to_dicts()})
            (target / "summary.json").write_text(json.dumps(summary, indent=2, ensure_ascii=False), encoding="utf-8")
        except OSError as error:
            raise ConfigurationError(f"The results cannot be written to {str(target)!r}: {error.strerror}.") from error
        return target

    def __repr__(self) -> str:
        """Name metrics and means."""
        means = ", ".join(f"{row.metric}={row.mean}" for row in self.summary(by=()))
        return f"EvaluationReport({len(self.samples)} items, {means})"


def writable_directory(directory: str | os.PathLike[str]) -> Path:
    """Make a directory if there is none, and make sure that files can be written into it.

    Raises:
        ConfigurationError: They cannot.
    """
    target = Path(directory)
    try:
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=target):
            pass
    except OSError as error:
        raise ConfigurationError(f"The results cannot be written to {str(target)!r}: {error.strerror}.") from error
    return target


def check_keys(keys: Sequence[str], samples: Sequence[Sample]) -> None:
    """Make sure that at least one item has each key.

    Raises:
        ConfigurationError: None has; the message names the nearest key that exists.
    """
    known = {"db_id", *(key for sample in samples for key in sample.metadata)}
    for key in keys:
        if key not in known:
            raise ConfigurationError(f"No item has the key {key!r}; {nearest(key, known)}")


def plain(value: Any) -> Any:
    """Bring a value to what strict JSON can hold: valid text, finite numbers, lists and objects."""
    if isinstance(value, str):
        return printable(str(value))
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, dict):
        return {printable(str(name)): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return printable(repr(value))
