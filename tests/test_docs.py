"""The documentation keeps up with the package: generated pages, names, navigation, and examples that run."""

from __future__ import annotations

import importlib.util
import pkgutil
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest
import typer

import sqlmetrics
from sqlmetrics.cli import app
from sqlmetrics.results import ReasonCode, Status
from sqlmetrics.tables.policy import POLICIES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
COMMAND_LINE = DOCS / "reference" / "command-line.md"
NOT_IN_API = {"sqlmetrics.cli", "sqlmetrics.__main__"}
DIRECTIVE = re.compile(r"^::: (\S+)$", re.MULTILINE)
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SKIP_NEXT = re.compile(r"<!--+\s*skip: next[^>]*>\s*\Z")
SKIP_RANGE = re.compile(r"<!--+\s*skip: start.*?(?:skip: end|\Z)", re.DOTALL)


def page_name(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


def read(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_cli", DOCS / "generate_cli.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cli_commands() -> dict[str, Any]:
    commands: dict[str, Any] = getattr(typer.main.get_command(app), "commands", {})
    assert commands
    return commands


def parameters() -> list[Any]:
    """Every argument and option as a pytest parameter: its command's name, and itself."""
    return [
        pytest.param(name, parameter, id=f"{name} {parameter.name}")
        for name, command in cli_commands().items()
        for parameter in command.params
    ]


def section(name: str) -> str:
    """What the page says of one command."""
    return COMMAND_LINE.read_text(encoding="utf-8").partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def configured_nav() -> list[str]:
    """The pages that mkdocs.yml names in its navigation."""
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    block = re.split(r"^\S", nav, maxsplit=1, flags=re.MULTILINE)[0]
    return re.findall(r"^ +- (?:[^:\n]+: )?(\S+\.md)$", block, re.MULTILINE)


def test_command_line_page_is_current(generator: ModuleType) -> None:
    found = COMMAND_LINE.read_text(encoding="utf-8")
    written_with = re.search(r"with typer ([\d.]+)\. Do not edit", found)
    assert written_with is not None
    if written_with[1] != generator.typer_version():
        pytest.skip(f"the page is laid out by typer {written_with[1]}, this is typer {generator.typer_version()}")
    assert found == generator.page(), "run `python docs/generate_cli.py`"


@pytest.mark.parametrize("name", sorted(cli_commands()))
def test_every_command_is_on_the_command_line_page(name: str) -> None:
    summary = cli_commands()[name].help
    assert summary
    assert words(summary) <= words(section(name))


@pytest.mark.parametrize(("name", "parameter"), parameters())
def test_every_option_is_on_the_command_line_page(name: str, parameter: click.Parameter) -> None:
    text = section(name)
    declared = [*parameter.opts, *parameter.secondary_opts]
    assert declared
    for spelling in declared:
        assert re.search(rf"(?<![\w-]){re.escape(spelling)}(?![\w-])", text), spelling
    described = getattr(parameter, "help", None)
    assert described
    assert words(described) <= words(text)


@pytest.mark.parametrize("name", sqlmetrics.__all__)
def test_every_public_name_is_in_the_api_reference(name: str) -> None:
    index = read("reference/api/index.md")
    target = re.search(rf"\[`{name}`\]\[(sqlmetrics\.[\w.]+)\]", index)
    assert target is not None
    module = target[1].rpartition(".")[0]
    assert getattr(importlib.import_module(module), name) is getattr(sqlmetrics, name)
    assert module in api_modules()


def api_modules() -> set[str]:
    return {found for page in PAGES for found in DIRECTIVE.findall(page.read_text(encoding="utf-8"))}


def test_every_module_is_in_the_api_reference() -> None:
    modules = {
        module.name
        for module in pkgutil.walk_packages(sqlmetrics.__path__, "sqlmetrics.", onerror=lambda name: None)
        if not module.ispkg or module.name == "sqlmetrics.demo"
    }
    assert modules - NOT_IN_API == api_modules()


def test_every_page_is_in_the_navigation() -> None:
    listed = configured_nav()
    assert sorted(listed) == [page_name(page) for page in PAGES]


@pytest.mark.parametrize("status", Status)
def test_every_status_is_explained(status: Status) -> None:
    assert f"`{status.value}`" in read("reference/errors-and-statuses.md")


@pytest.mark.parametrize("code", ReasonCode)
def test_every_reason_code_is_explained(code: ReasonCode) -> None:
    assert f"\n| `{code.value}` |" in read("metrics/execution-accuracy.md")


def test_policies_table_is_current() -> None:
    rows = re.findall(r"^\| (.+) \|$", read("metrics/execution-accuracy.md"), re.MULTILINE)
    table = [[cell.strip("` ") for cell in row.split(" | ")] for row in rows if row.count(" | ") == len(POLICIES)]
    header, *options = [row for row in table if not set(row[0]) <= {"-"}]
    assert header == ["option", *POLICIES]
    for option, *cells in options:
        assert cells == [shown(getattr(policy, option)) for policy in POLICIES.values()], option
    fields = set(POLICIES["default"].__dataclass_fields__)
    assert {row[0] for row in options} == fields - {"name"}


def shown(value: object) -> str:
    """How the table writes an option's value."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "1e-9" if value == 1e-9 else f"{value:g}" if isinstance(value, float) else str(value)


def test_examples_run() -> None:
    total = skipped = 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        ranges = [match.span() for match in SKIP_RANGE.finditer(text)]
        for block in FENCE.finditer(text):
            assert block[1] not in ("py", "python3", "pycon"), f"{page_name(page)}: write ```python, which is run"
            if block[1] != "python":
                continue
            total += 1
            inside = any(start <= block.start() < end for start, end in ranges)
            skipped += bool(inside or SKIP_NEXT.search(text[: block.start()]) or "doctest: +SKIP" in block[2])
    assert total > 50
    assert skipped <= 0.05 * total


def test_pages_ask_no_other_host() -> None:
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert re.search(r"^  font: false$", config, re.MULTILINE)
    assert "http" not in config
    for page in PAGES:
        assert not re.search(r"!\[[^\]]*\]\(\s*http|<(?:img|script|iframe|link)\b", page.read_text(encoding="utf-8"))
