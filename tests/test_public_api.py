"""The public names: importable, documented, and light to import."""

from __future__ import annotations

import inspect
import pickle
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import sqlmetrics
from sqlmetrics.errors import ConfigurationError
from sqlmetrics.metrics.base import Metric
from sqlmetrics.registry import BUILT_IN, find_metric, metric_names

ROOT = Path(__file__).parents[1]
HEAVY = [
    *("pandas", "datacompy", "openai", "instructor", "duckdb", "psycopg", "pymysql", "sqlalchemy", "numpy", "scipy"),
    *("matplotlib", "ragas", "deepeval", "rich", "typer"),
]
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(sqlmetrics.__path__, "sqlmetrics.")
    if not module.name.endswith("__main__")
)


def test_all_is_sorted_and_complete() -> None:
    assert sqlmetrics.__all__ == sorted(sqlmetrics.__all__)
    assert set(sqlmetrics.__all__) <= set(dir(sqlmetrics))


@pytest.mark.parametrize("name", sqlmetrics.__all__)
def test_public_names_are_documented_with_an_example(name: str) -> None:
    public = getattr(sqlmetrics, name)
    documentation = inspect.getdoc(public) or ""
    assert documentation
    assert ">>>" in documentation or name == "aevaluate"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'ExecutionAcuracy'"):
        getattr(sqlmetrics, "ExecutionAcuracy")  # noqa: B009 - a name that does not exist


@pytest.mark.parametrize("name", MODULES)
def test_names_that_a_module_exports_exist_and_are_documented(name: str) -> None:
    try:
        module = import_module(name)
    except ImportError as error:  # a driver that is not installed
        pytest.skip(str(error))
    for exported in getattr(module, "__all__", []):
        value = getattr(module, exported)
        assert not callable(value) or inspect.getdoc(value), exported
        assert not (inspect.isclass(value) and inspect.getdoc(value) == inspect.getdoc(value.__mro__[1])), exported


@pytest.mark.parametrize("name", MODULES)
def test_every_module_that_holds_code_is_documented(name: str) -> None:
    path = ROOT / Path(*name.split("."))
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = source.read_text(encoding="utf-8")
    assert not text or text.startswith('"""')


def fresh_interpreter(code: str) -> str:
    """Run code in a fresh interpreter and return what it prints."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True, timeout=60).stdout.strip()


@pytest.mark.parametrize(
    "statement",
    [
        "import sqlmetrics",
        "from sqlmetrics import ExecutionAccuracy, connect, Table",
        "from sqlmetrics import *",
        "from sqlmetrics import connect; connect('none.sqlite')",
        "import sqlmetrics; [getattr(sqlmetrics, name) for name in dir(sqlmetrics)]",
    ],
)
def test_importing_loads_no_heavy_package(statement: str) -> None:
    code = f"{statement}\nimport sys\nprint([name for name in {HEAVY!r} if name in sys.modules])"
    assert fresh_interpreter(code) == "[]"


def test_scoring_tables_loads_no_heavy_package() -> None:
    code = (
        "from sqlmetrics import ExecutionAccuracy, Table\n"
        "table = Table(['a'], [(1,)])\n"
        "assert ExecutionAccuracy().score(response=table, reference=table)\n"
        f"import sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    assert fresh_interpreter(code) == "[]"


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_built_in_metrics(name: str) -> None:
    metric = find_metric(name)
    assert issubclass(metric, Metric)
    assert metric.name == name
    assert name in metric_names()
    assert pickle.loads(pickle.dumps(metric())).name == name


def test_metrics_of_other_packages_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other_metrics.py").write_text(
        "from sqlmetrics import ExecutionAccuracy\n\nclass Louder(ExecutionAccuracy):\n    name = 'louder'\n"
    )
    (tmp_path / "other_metrics-1.0.dist-info").mkdir()
    (tmp_path / "other_metrics-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: other_metrics\nVersion: 1.0\n"
    )
    (tmp_path / "other_metrics-1.0.dist-info" / "entry_points.txt").write_text(
        "[sqlmetrics.metrics]\nlouder = other_metrics:Louder\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert "louder" in metric_names()
    assert find_metric("louder").name == "louder"


def test_an_unknown_metric_names_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'execution_accuracy'"):
        find_metric("executionaccuracy")


def test_the_package_is_typed() -> None:
    assert (ROOT / "sqlmetrics" / "py.typed").is_file()
