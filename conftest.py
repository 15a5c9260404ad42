"""Run the examples of docstrings, README and docs as tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.document import PythonDocStringDocument
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser
from sybil.parsers.rest import DocTestParser


@pytest.fixture(scope="module")
def own_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Examples write their files into a directory of their own."""
    directory, before = tmp_path_factory.mktemp("example"), Path.cwd()
    os.chdir(directory)
    yield directory
    os.chdir(before)


pytest_collect_file = (
    Sybil(
        parsers=[PythonCodeBlockParser(), SkipParser()],
        patterns=["README.md", "docs/*.md", "docs/**/*.md"],
        fixtures=["own_directory"],
    )
    + Sybil(
        parsers=[DocTestParser()],
        patterns=["sqlmetrics/*.py", "sqlmetrics/**/*.py"],
        document_types={".py": PythonDocStringDocument},
        fixtures=["own_directory"],
    )
).pytest()
