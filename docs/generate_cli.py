"""Write `reference/command-line.md` from the command line's own help.

Run it from the root of a checkout: `python docs/generate_cli.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import typer

from sqlmetrics.cli import app

PAGE = Path(__file__).parent / "reference" / "command-line.md"
WIDTH = 100
COLOUR_VARIABLES = frozenset({"GITHUB_ACTIONS", "FORCE_COLOR", "PY_COLORS", "CLICOLOR_FORCE", "TTY_COMPATIBLE"})
RUN = "import sys; from sqlmetrics.cli import app; app(sys.argv[1:], prog_name='sqlmetrics')"

HEAD = """\
# Command line

<!-- Written by docs/generate_cli.py with typer {typer}. Do not edit. -->

What `sqlmetrics --help` and the help of each command print. `python -m sqlmetrics` is the same program.
"""


def typer_version() -> str:
    """Major and minor version of typer, which lays the help out."""
    return ".".join(version("typer").split(".")[:2])


def commands() -> list[str]:
    """The names of all commands, in the order of the help."""
    group = typer.main.get_command(app)
    return list(getattr(group, "commands", {}))


def help_text(*command: str) -> str:
    """The help of the program or of one command, 100 columns wide and without colour."""
    kept = {name: value for name, value in os.environ.items() if name not in COLOUR_VARIABLES}
    paths = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    width = {"COLUMNS": str(WIDTH), "TERMINAL_WIDTH": str(WIDTH), "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(
        [sys.executable, "-c", RUN, *command, "--help"],
        env={**kept, **width, "PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip("\n")


def page() -> str:
    """The whole page."""
    parts = [HEAD.format(typer=typer_version()), f"```text\n{help_text()}\n```\n"]
    parts += [f"## {name}\n\n```text\n{help_text(name)}\n```\n" for name in commands()]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
