"""Spider's line files: `SQL<TAB>db_id` for golds, one query a line for predictions."""

from __future__ import annotations

import os
import re

from sqlmetrics.errors import FormatError
from sqlmetrics.evaluation.formats.base import Prediction, numbered_lines, read_text
from sqlmetrics.evaluation.samples import Sample

__all__ = ["one_line", "read_spider_gold", "read_spider_predictions"]

_DB_ID = re.compile(r"[A-Za-z0-9_.\-]+")
_KEPT = r"('(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]]*\]|/\*.*?\*/)"
_COMMENT = re.compile(_KEPT + r"|--([^\n]*)", re.DOTALL)
_QUOTED_OR_BREAK = re.compile(_KEPT + r"|\s*\n\s*", re.DOTALL)


def read_spider_gold(path: str | os.PathLike[str]) -> list[Sample]:
    """Read gold lines: the query, a tab (or a bar, or several spaces), and the database.

    Args:
        path: The file; blank lines are passed over.

    Returns:
        One sample a line, with its place among the lines as id, from 0.

    Raises:
        FormatError: A line cannot be split; the message names file and line.
    """
    samples: list[Sample] = []
    for number, line in numbered_lines(path):
        sql, db_id = _split_gold(line.strip())
        if not sql or not _DB_ID.fullmatch(db_id):
            raise FormatError(f"{os.fspath(path)}, line {number}: expected `SQL<TAB>db_id`, but got {line[:80]!r}.")
        samples.append(Sample(id=str(len(samples)), reference=sql, db_id=db_id))
    return samples


def _split_gold(line: str) -> tuple[str, str]:
    """Split a gold line at its last tab, else at its last bar, else at its last run of spaces."""
    for pattern in (r"\t+", r"\s*\|\s*", r"\s{2,}"):
        parts = list(re.finditer(pattern, line))
        if parts and _DB_ID.fullmatch(line[parts[-1].end() :].strip()):
            return line[: parts[-1].start()].strip(), line[parts[-1].end() :].strip()
    return "", ""


def read_spider_predictions(path: str | os.PathLike[str]) -> list[Prediction]:
    """Read prediction lines, with or without a tab and the database behind the query.

    Args:
        path: The file. A blank line stands for "no answer"; blank lines at the end are passed over.

    Returns:
        One prediction a line, with its place among the lines as id, from 0.
    """
    lines = read_text(path).replace("\r\n", "\n").replace("\r", "\n").rstrip().split("\n")
    predictions: list[Prediction] = []
    for line in lines if lines != [""] else []:
        sql, tab, db_id = line.strip().rpartition("\t")
        if not tab or not _DB_ID.fullmatch(db_id.strip()):
            sql, db_id = line.strip(), ""
        predictions.append(Prediction(str(len(predictions)), sql.strip() or None, db_id.strip() or None))
    return predictions


def one_line(sql: str) -> str:
    """Write a query on one line without changing what it means: line comments become block comments.

    Args:
        sql: The query.

    Returns:
        The same query without line breaks outside quotes. A break inside quotes stays, since it is part of a text.

    Examples:
        >>> one_line("SELECT 1 -- first\\nAS x")
        'SELECT 1 /* first */ AS x'
    """
    commented = _COMMENT.sub(
        lambda match: match[1] or "/* " + match[2].strip().replace("*/", "* /") + " */", sql.replace("\r\n", "\n")
    )
    return _QUOTED_OR_BREAK.sub(lambda match: match[1] or " ", commented).strip()
