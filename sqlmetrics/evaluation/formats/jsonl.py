"""JSONL: one JSON object a line."""

from __future__ import annotations

import json
import os
from typing import Any

from sqlmetrics.errors import FormatError
from sqlmetrics.evaluation.formats.base import numbered_lines

__all__ = ["read_jsonl"]


def read_jsonl(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read the objects of a JSONL file.

    Args:
        path: The file.

    Returns:
        One dict a line, in order; blank lines are passed over.

    Raises:
        FormatError: A line is no JSON object; the message names file and line.
    """
    rows = []
    for number, line in numbered_lines(path):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{os.fspath(path)}, line {number}: no valid JSON ({error}).") from error
        if not isinstance(row, dict):
            raise FormatError(f"{os.fspath(path)}, line {number}: expected an object, but got {type(row).__name__}.")
        rows.append(row)
    return rows
