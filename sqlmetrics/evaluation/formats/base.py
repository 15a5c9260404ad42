"""What the format files share: reading text with a line number at hand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from sqlmetrics.errors import FormatError

__all__ = ["NumberedLine", "Prediction", "numbered_lines", "read_text"]


class NumberedLine(NamedTuple):
    """A line of a file and its number, from 1."""

    number: int
    text: str


class Prediction(NamedTuple):
    """One prediction of a file: its id, the SQL (or `None`), and the database it names, if any."""

    id: str
    response: object
    db_id: str | None = None


def read_text(path: str | os.PathLike[str]) -> str:
    """Read a UTF-8 file, with or without a byte-order mark.

    Raises:
        FormatError: It is missing, a directory, unreadable or no UTF-8 text.
    """
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FormatError(f"{os.fspath(path)!r} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise FormatError(f"{os.fspath(path)!r} is not UTF-8 text (byte {error.start}); convert it first.") from error


def numbered_lines(path: str | os.PathLike[str]) -> list[NumberedLine]:
    """The lines of a file that are not blank, whatever its line ends, each with its number."""
    lines = read_text(path).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [NumberedLine(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
