"""Comparison policies: named, frozen sets of choices, so that a number says which rule made it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args, get_type_hints

from sqlmetrics.errors import ConfigurationError, nearest

__all__ = ["POLICIES", "ComparisonPolicy", "policy_options", "resolve_policy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonPolicy:
    """How two result tables are compared.

    Args:
        name: The policy's name; it is part of every result. A changed copy is called `name+option`.
        rows: `multiset` counts duplicates, `set` does not.
        columns: `name` pairs by position, else by name, else by value; `position` by position only; `any` accepts
            any permutation of columns that holds for every row.
        order: `keys` wants the gold's outermost ORDER BY on its keys, ties free; `rows` wants the very same row
            sequence if the gold's outermost query is ordered; `text` does so if the words ORDER BY occur anywhere in
            the gold; `ignore` never looks at the order.
        rel_tol: Relative tolerance between numbers that are not both whole.
        abs_tol: Absolute tolerance between numbers.
        ties: `accept` credits any answer that a tie cut by the gold's LIMIT allows; `exact` wants the gold's own rows.
        extra_columns: Whether the prediction may have columns that the gold lacks.
        keep_distinct: Whether DISTINCT stays in the queries; `False` strips it from both, as Spider's test suite does.
        types: `value` compares values across types, `storage` wants the same storage class too.
        column_names: Whether the names must agree as well.
        empty_width: Whether two empty results must have the same number of columns.

    Raises:
        ConfigurationError: An option is not one of its values, or a tolerance is negative or not finite.

    Examples:
        >>> ComparisonPolicy.named("bird").rows
        'set'
        >>> ComparisonPolicy.named("default", abs_tol=0.01).name
        'default+abs_tol'
    """

    name: str = "default"
    rows: Literal["multiset", "set"] = "multiset"
    columns: Literal["name", "position", "any"] = "name"
    order: Literal["keys", "rows", "text", "ignore"] = "keys"
    rel_tol: float = 1e-9
    abs_tol: float = 0.0
    ties: Literal["exact", "accept"] = "exact"
    extra_columns: bool = False
    keep_distinct: bool = True
    types: Literal["value", "storage"] = "value"
    column_names: bool = False
    empty_width: bool = True

    def __post_init__(self) -> None:
        """Check every option once."""
        for option, hint in get_type_hints(type(self)).items():
            _check_option(option, getattr(self, option), hint)

    @classmethod
    def named(cls, name: str = "default", **options: Any) -> ComparisonPolicy:
        """Look a policy up by name and change single options of it.

        Args:
            name: One of `default`, `bird`, `test_suite`, `spider2`, `superset`, `strict`.
            **options: Options to set on top of it.

        Returns:
            The policy; with options that change it, its name gets a `+option` for each.

        Raises:
            ConfigurationError: The policy or an option does not exist, or a value is out of range.
        """
        if name not in POLICIES:
            raise ConfigurationError(f"Unknown policy {name!r}; {nearest(str(name), POLICIES)}")
        return resolve_policy(POLICIES[name], options)

    def with_options(self, **options: Any) -> ComparisonPolicy:
        """Return this policy with single options changed and named.

        Raises:
            ConfigurationError: An option does not exist, or its value is out of range.
        """
        for option in options:
            if option not in policy_options():
                raise ConfigurationError(f"Unknown policy option {option!r}; {nearest(option, policy_options())}")
        changed = {option: value for option, value in options.items() if value != getattr(self, option)}
        return replace(self, name="+".join([self.name, *changed]), **changed) if changed else self


def _check_option(option: str, value: object, hint: object) -> None:
    """Raise if one option has a value that it cannot take."""
    choices = get_args(hint)
    if choices and value not in choices:
        raise ConfigurationError(f"Expected `{option}` to be one of {choices}, but got {value!r}.")
    if hint is bool and not isinstance(value, bool):
        raise ConfigurationError(f"Expected `{option}` to be True or False, but got {value!r}.")
    if hint is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number and math.isfinite(value) and value >= 0):  # type: ignore[arg-type, operator]
            raise ConfigurationError(f"Expected `{option}` to be a finite number >= 0, but got {value!r}.")


def policy_options() -> frozenset[str]:
    """The names of the options that a policy can be changed in."""
    return frozenset(field.name for field in fields(ComparisonPolicy)) - {"name"}


def resolve_policy(
    policy: str | ComparisonPolicy, options: dict[str, Any], known: tuple[str, ...] = ()
) -> ComparisonPolicy:
    """Turn a policy or its name, plus single options, into one policy.

    Args:
        policy: The policy or its name.
        options: Options to set on top of it.
        known: Further names that a mistyped option may have meant.

    Returns:
        The policy.

    Raises:
        ConfigurationError: The policy or an option does not exist, or a value is out of range.
    """
    named = {field.name for field in fields(ComparisonPolicy)}
    for option in options:
        if option not in named:  # a field that is no option is refused in the policy's own words below
            raise ConfigurationError(f"Unknown option {option!r}; {nearest(option, {*policy_options(), *known})}")
    if isinstance(policy, ComparisonPolicy):
        return policy.with_options(**options)
    if not isinstance(policy, str):
        raise ConfigurationError(f"Expected `policy` to be a name or a ComparisonPolicy, but got {policy!r}.")
    return ComparisonPolicy.named(policy).with_options(**options)


_EXACT: dict[str, Any] = {"rel_tol": 0.0, "abs_tol": 0.0}
POLICIES: dict[str, ComparisonPolicy] = {
    policy.name: policy
    for policy in (
        ComparisonPolicy(),
        ComparisonPolicy(name="bird", rows="set", columns="position", order="ignore", empty_width=False, **_EXACT),
        ComparisonPolicy(
            name="test_suite", columns="any", order="text", keep_distinct=False, empty_width=False, **_EXACT
        ),
        ComparisonPolicy(name="spider2", columns="any", extra_columns=True, order="ignore", rel_tol=0.0, abs_tol=0.01),
        ComparisonPolicy(name="superset", extra_columns=True),
        ComparisonPolicy(name="strict", columns="position", order="rows", types="storage", column_names=True, **_EXACT),
    )
}
