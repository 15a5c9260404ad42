"""Demo data: a small ferry company, questions about it and two prediction sets.

The database itself is not shipped. Build it with
`sqlmetrics.demo.build.build_database`.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

__all__ = ["demo_files"]


def demo_files() -> dict[str, Path]:
    """Locate the JSON Lines files of the demo.

    Returns:
        The paths under the keys `questions`, `model_a` and `model_b`.
    """
    folder = Path(str(files(__name__)))
    return {name: folder / f"{name}.jsonl" for name in ("questions", "model_a", "model_b")}
