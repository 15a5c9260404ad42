"""CSV with a header line, such as the published predictions of DIN-SQL (`NLQ,PREDICTED SQL,GOLD SQL,DATABASE`)."""

from __future__ import annotations

import csv
import io
import os
from typing import Any

from sqlmetrics.errors import FormatError
from sqlmetrics.evaluation.formats.base import read_text

__all__ = ["read_csv"]

_HEADINGS = {
    "nlq": "user_input",
    "question": "user_input",
    "predicted sql": "response",
    "predicted_sql": "response",
    "prediction": "response",
    "gold sql": "reference",
    "gold_sql": "reference",
    "gold": "reference",
    "database": "db_id",
    "db": "db_id",
    "question_id": "id",
}


def read_csv(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read the rows of a CSV file; every cell stays text.

    Args:
        path: The file.

    Returns:
        One dict a row, with common headings brought to sqlmetrics' names.

    Raises:
        FormatError: There is no header, a heading repeats, or a row has another number of cells.
    """
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(io.StringIO(read_text(path), newline=""))
    try:
        header = next(reader, None)
        if not header:
            raise FormatError(f"{os.fspath(path)}: the file is empty; expected a header line.")
        names = [_HEADINGS.get(name.strip().casefold(), name.strip()) for name in header]
        if len(set(names)) != len(names):
            raise FormatError(f"{os.fspath(path)}, line 1: a heading occurs twice: {header!r}.")
        rows = []
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(names):
                raise FormatError(
                    f"{os.fspath(path)}, line {reader.line_num}: expected {len(names)} cells, but got {len(cells)}."
                )
            rows.append(dict(zip(names, cells, strict=True)))
    except csv.Error as error:
        raise FormatError(f"{os.fspath(path)}, line {reader.line_num}: {error}.") from error
    return rows
