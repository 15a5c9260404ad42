"""Policies: names, options, and messages that name the way out."""

from __future__ import annotations

import dataclasses
import math
import pickle
from typing import Any

import pytest

from sqlmetrics.errors import ConfigurationError
from sqlmetrics.tables.policy import POLICIES, ComparisonPolicy, resolve_policy


def test_the_published_names_exist() -> None:
    assert set(POLICIES) == {"default", "bird", "test_suite", "spider2", "superset", "strict"}
    assert all(POLICIES[name].name == name for name in POLICIES)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("default", {"rows": "multiset", "columns": "name", "order": "keys", "rel_tol": 1e-9, "abs_tol": 0.0}),
        ("bird", {"rows": "set", "columns": "position", "order": "ignore", "rel_tol": 0.0, "abs_tol": 0.0}),
        ("test_suite", {"rows": "multiset", "columns": "any", "order": "text", "keep_distinct": False}),
        ("spider2", {"extra_columns": True, "abs_tol": 0.01}),
        ("superset", {"extra_columns": True, "rel_tol": 1e-9}),
        ("strict", {"types": "storage", "column_names": True, "columns": "position", "order": "rows"}),
    ],
)
def test_what_a_policy_chooses(name: str, options: dict[str, Any]) -> None:
    assert {option: getattr(POLICIES[name], option) for option in options} == options


def test_a_policy_is_frozen_and_pickles() -> None:
    policy = ComparisonPolicy.named("bird")
    assert pickle.loads(pickle.dumps(policy)) == policy
    with pytest.raises(dataclasses.FrozenInstanceError):
        policy.rows = "multiset"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "bird"),
        ({"rows": "set"}, "bird"),
        ({"abs_tol": 0.1}, "bird+abs_tol"),
        ({"abs_tol": 0.1, "ties": "accept"}, "bird+abs_tol+ties"),
    ],
    ids=["none", "unchanged", "one", "two"],
)
def test_the_name_says_what_was_changed(options: dict[str, Any], name: str) -> None:
    assert resolve_policy("bird", options).name == name
    assert resolve_policy(POLICIES["bird"], options).name == name


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        pytest.param("brid", {}, "did you mean 'bird'", id="name"),
        pytest.param("default", {"abs_tolerance": 1}, "did you mean 'abs_tol'", id="option"),
        pytest.param("default", {"name": "mine"}, "Unknown policy option 'name'", id="the-name-is-no-option"),
        pytest.param("default", {"rows": "bag"}, "'multiset', 'set'", id="choice"),
        pytest.param("default", {"abs_tol": -1}, "finite number >= 0", id="negative"),
        pytest.param("default", {"abs_tol": math.nan}, "finite number >= 0", id="nan"),
        pytest.param("default", {"rel_tol": math.inf}, "finite number >= 0", id="infinite"),
        pytest.param("default", {"rel_tol": True}, "finite number >= 0", id="bool-as-number"),
        pytest.param("default", {"rel_tol": "1e-9"}, "finite number >= 0", id="text-as-number"),
        pytest.param("default", {"extra_columns": 1}, "True or False", id="number-as-bool"),
        pytest.param(None, {}, "a name or a ComparisonPolicy", id="no-policy"),
        pytest.param("default", {"rows": ["set"]}, "Expected `rows`", id="unhashable"),
    ],
)
def test_wrong_configuration_names_the_way_out(policy: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        resolve_policy(policy, options)
