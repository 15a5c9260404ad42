"""From a `db_id` to a database."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from sqlmetrics.databases.base import Database
from sqlmetrics.databases.connect import check_options, connect
from sqlmetrics.databases.servers import without_password
from sqlmetrics.errors import ConfigurationError, nearest

__all__ = ["DatabaseCatalog"]

OPEN_DATABASES = 128
Source = str | os.PathLike[str] | Mapping[str, Any] | Callable[[str], Any]


class DatabaseCatalog:
    """Finds the database of a `db_id`: by a path pattern, a mapping, or a function.

    Args:
        source: A path or URL with `{db_id}` in it; a mapping from `db_id` to a target or `Database`; or a function
            that returns one.
        **options: Options of `connect` for every database that is opened by target.

    Raises:
        ConfigurationError: The source is none of those, a pattern lacks `{db_id}`, or an option does not exist.

    Examples:
        >>> catalog = DatabaseCatalog("databases/{db_id}/{db_id}.sqlite")
        >>> catalog.get("shop").label.endswith("shop.sqlite")
        True
        >>> DatabaseCatalog({"shop": "shop.sqlite"}).get("shp")
        Traceback (most recent call last):
        ...
        sqlmetrics.errors.ConfigurationError: Unknown db_id 'shp'; did you mean 'shop'?
    """

    def __init__(self, source: Source, **options: Any) -> None:
        """Keep the source; databases open on first use."""
        if isinstance(source, str | os.PathLike):
            source = os.fspath(source)
            if "{db_id}" not in source:
                raise ConfigurationError(
                    f"Expected a pattern with {{db_id}} in it, but got {without_password(source)!r}."
                )
        elif not isinstance(source, Mapping) and not callable(source):
            raise ConfigurationError(f"Expected a pattern, a mapping or a function, but got {source!r}.")
        check_options(options)
        connect("unused", **options)  # values out of range are told here, not once a database
        self.source = source
        self.options = options
        self._open: OrderedDict[str, Database] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, db_id: str) -> Database:
        """Return the database of a `db_id`, always the same object while it is in use.

        Args:
            db_id: The database's identifier.

        Returns:
            The database.

        Raises:
            ConfigurationError: The `db_id` is unknown or no text, or its target is wrong.
        """
        if not isinstance(db_id, str) or not db_id:
            raise ConfigurationError(f"Expected `db_id` to be a name, but got {db_id!r}.")
        with self._lock:
            database = self._open.get(db_id)
            if database is None:
                database = self._open[db_id] = self._resolve(db_id)
            self._open.move_to_end(db_id)
            surplus = [self._open.popitem(last=False)[1] for _ in range(len(self._open) - OPEN_DATABASES)]
        for other in surplus:
            other.close()
        return database

    def describe(self, db_id: str) -> str:
        """Say where a `db_id` was looked for, for an error message."""
        if isinstance(self.source, str):
            return f"db_id {db_id!r} of pattern {without_password(self.source)!r}"
        return f"db_id {db_id!r}"

    def __repr__(self) -> str:
        """Name the source, without a password."""
        source = without_password(self.source) if isinstance(self.source, str) else type(self.source).__name__
        return f"DatabaseCatalog({source!r})"

    def close(self) -> None:
        """Close idle connections of all databases."""
        with self._lock:
            for database in self._open.values():
                database.close()

    def _resolve(self, db_id: str) -> Database:
        """Ask the source."""
        if isinstance(self.source, str):
            if db_id in (".", "..") or "/" in db_id or "\\" in db_id or "\0" in db_id:
                raise ConfigurationError(f"db_id {db_id!r} is no plain name; it may not hold a path.")
            found: Any = self.source.replace("{db_id}", db_id)
        elif isinstance(self.source, Mapping):
            if db_id not in self.source:
                raise ConfigurationError(f"Unknown db_id {db_id!r}; {nearest(db_id, map(str, self.source))}")
            found = self.source[db_id]
        else:
            try:
                found = self.source(db_id)
            except LookupError as error:
                raise ConfigurationError(
                    f"Unknown db_id {db_id!r}: the catalog's function raised {error!r}."
                ) from error
        return found if isinstance(found, Database) else connect(found, **self.options)

    def __getstate__(self) -> dict[str, Any]:
        """Leave open databases and the lock out of pickles."""
        return {"source": self.source, "options": self.options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the configuration back."""
        self.__init__(state["source"], **state["options"])  # type: ignore[misc]
