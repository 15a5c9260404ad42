"""Text-to-SQL metrics that people trust: SQL run safely, results compared under a named policy, and reasons."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlmetrics.databases.catalog import DatabaseCatalog
    from sqlmetrics.databases.connect import connect
    from sqlmetrics.errors import ConfigurationError, SQLMetricsError
    from sqlmetrics.evaluation.report import EvaluationReport
    from sqlmetrics.evaluation.runner import aevaluate, evaluate
    from sqlmetrics.evaluation.samples import Sample
    from sqlmetrics.metrics.execution_accuracy import ExecutionAccuracy
    from sqlmetrics.results import MetricResult
    from sqlmetrics.tables.policy import ComparisonPolicy
    from sqlmetrics.tables.table import Table

__version__ = "0.1.0"

_MODULES = {
    "ComparisonPolicy": "tables.policy",
    "ConfigurationError": "errors",
    "DatabaseCatalog": "databases.catalog",
    "EvaluationReport": "evaluation.report",
    "ExecutionAccuracy": "metrics.execution_accuracy",
    "MetricResult": "results",
    "SQLMetricsError": "errors",
    "Sample": "evaluation.samples",
    "Table": "tables.table",
    "aevaluate": "evaluation.runner",
    "connect": "databases.connect",
    "evaluate": "evaluation.runner",
}

__all__ = [
    "ComparisonPolicy",
    "ConfigurationError",
    "DatabaseCatalog",
    "EvaluationReport",
    "ExecutionAccuracy",
    "MetricResult",
    "SQLMetricsError",
    "Sample",
    "Table",
    "aevaluate",
    "connect",
    "evaluate",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first asked for."""
        if name not in _MODULES:
            raise AttributeError(f"module 'sqlmetrics' has no attribute {name!r}")
        value = getattr(import_module(f"sqlmetrics.{_MODULES[name]}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        """List public names whether or not they are imported yet."""
        return sorted([*globals(), *__all__])
