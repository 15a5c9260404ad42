"""Metrics by name: the built-in ones, then those that other packages register under `sqlmetrics.metrics`."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from sqlmetrics.errors import ConfigurationError, nearest

if TYPE_CHECKING:
    from sqlmetrics.metrics.base import Metric

__all__ = ["BUILT_IN", "find_metric", "metric_names"]

BUILT_IN = {
    "execution_accuracy": "sqlmetrics.metrics.execution_accuracy:ExecutionAccuracy",
}
GROUP = "sqlmetrics.metrics"


def metric_names() -> list[str]:
    """The names of all metrics that are installed, in alphabetical order.

    Examples:
        >>> "execution_accuracy" in metric_names()
        True
    """
    return sorted({*BUILT_IN, *(point.name for point in entry_points(group=GROUP))})


def find_metric(name: str) -> type[Metric]:
    """Import a metric class by its name.

    Args:
        name: A built-in name, or one that an installed package registers.

    Returns:
        The class.

    Raises:
        ConfigurationError: There is no such metric.

    Examples:
        >>> find_metric("execution_accuracy").__name__
        'ExecutionAccuracy'
    """
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        return getattr(import_module(module), attribute)  # type: ignore[no-any-return]
    for point in entry_points(group=GROUP, name=name):
        return point.load()  # type: ignore[no-any-return]
    raise ConfigurationError(f"Unknown metric {name!r}; {nearest(name, metric_names())}")
