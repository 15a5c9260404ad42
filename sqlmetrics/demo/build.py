"""Build the demo database, one season of a made-up ferry company.

The content is always the same: every random choice comes from a generator with
a fixed seed, and nothing depends on the clock. Only `Random.random` is used,
because Python promises to keep its sequence for a given seed.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import TypeVar

__all__ = ["build_database"]

T = TypeVar("T")
Row = tuple[object, ...]
Sailing = tuple[int, int, int, str, str, str, int | None]
Booking = tuple[int, int, int, str, str]

SEED = 1887
SEASON_START = date(2024, 5, 1)
SEASON_DAYS = 153
CUSTOMER_COUNT = 80
BOOKING_COUNT = 430

SCHEMA = """
CREATE TABLE ports (
    port_id    INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    local_name TEXT,
    opened_on  TEXT NOT NULL,
    has_ramp   BOOLEAN NOT NULL
);
CREATE TABLE vessels (
    vessel_id          INTEGER PRIMARY KEY,
    name               TEXT NOT NULL,
    built_year         INTEGER NOT NULL,
    car_capacity       INTEGER NOT NULL,
    passenger_capacity INTEGER NOT NULL,
    is_active          BOOLEAN NOT NULL,
    retired_on         TEXT
);
CREATE TABLE routes (
    route_id     INTEGER PRIMARY KEY,
    from_port_id INTEGER NOT NULL REFERENCES ports (port_id),
    to_port_id   INTEGER NOT NULL REFERENCES ports (port_id),
    distance_nm  REAL NOT NULL,
    duration_min INTEGER NOT NULL
);
CREATE TABLE fares (
    route_id INTEGER NOT NULL REFERENCES routes (route_id),
    category TEXT NOT NULL,
    price    DECIMAL(8, 2) NOT NULL,
    PRIMARY KEY (route_id, category)
);
CREATE TABLE customers (
    customer_id INTEGER PRIMARY KEY,
    name        TEXT NOT NULL,
    home_town   TEXT,
    email       TEXT,
    is_member   BOOLEAN NOT NULL,
    joined_on   TEXT NOT NULL,
    referred_by INTEGER REFERENCES customers (customer_id)
);
CREATE TABLE sailings (
    sailing_id INTEGER PRIMARY KEY,
    route_id   INTEGER NOT NULL REFERENCES routes (route_id),
    vessel_id  INTEGER NOT NULL REFERENCES vessels (vessel_id),
    departs_on TEXT NOT NULL,
    departs_at TEXT NOT NULL,
    status     TEXT NOT NULL,
    delay_min  INTEGER
);
CREATE TABLE bookings (
    booking_id  INTEGER PRIMARY KEY,
    sailing_id  INTEGER NOT NULL REFERENCES sailings (sailing_id),
    customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
    booked_on   TEXT NOT NULL,
    channel     TEXT NOT NULL
);
CREATE TABLE booking_lines (
    booking_id INTEGER NOT NULL REFERENCES bookings (booking_id),
    line_no    INTEGER NOT NULL,
    category   TEXT NOT NULL,
    quantity   INTEGER NOT NULL,
    unit_price DECIMAL(8, 2) NOT NULL,
    PRIMARY KEY (booking_id, line_no)
);
"""

# "Eskholm" in its local spelling, written in Latin-1: byte F3 is not valid UTF-8 here.
LATIN1_LOCAL_NAME = "UPDATE ports SET local_name = CAST(X'45736B68F36C6D' AS TEXT) WHERE port_id = 5"

PORTS: list[Row] = [
    (1, "Ardhaven", None, "1948-04-12", 1),
    (2, "Brockness", None, "1951-06-01", 1),
    (3, "Callow Sound", "Caolas Calla", "1951-06-01", 1),
    (4, "Dunmarrow", "Dùn Marra", "1963-05-20", 0),
    (5, "Eskholm", None, "1970-09-03", 1),
    (6, "Fairlee", None, "1978-03-28", 0),
    (7, "Grisby", None, "1986-07-14", 1),
    (8, "Hollin Point", None, "1991-05-02", 0),
    (9, "Inverlay", "Inbhir Laigh", "2003-04-30", 0),
]

VESSELS: list[Row] = [
    (1, "Gannet", 2009, 60, 320, 1, None),
    (2, "Petrel", 1987, 24, 180, 0, "2022-10-31"),
    (3, "Kittiwake", 2014, 40, 240, 1, None),
    (4, "Curlew", 2001, 40, 200, 1, None),
    (5, "Sandpiper", 2014, 0, 96, 1, None),
    (6, "Fulmar", 2009, 28, 180, 1, None),
    (7, "Dunlin", 1998, 0, 60, 1, None),
    (8, "Razorbill", 2024, 72, 400, 1, None),
]

# Route number, port of departure, port of arrival, nautical miles, minutes.
ROUTES: list[tuple[int, int, int, float, int]] = [
    (1, 1, 2, 12.4, 55),
    (2, 2, 1, 12.4, 55),
    (3, 1, 3, 18.0, 80),
    (4, 3, 1, 18.0, 80),
    (5, 1, 5, 31.5, 140),
    (6, 5, 1, 31.5, 140),
    (7, 2, 4, 6.2, 35),
    (8, 4, 2, 6.2, 35),
    (9, 3, 6, 9.8, 50),
    (10, 1, 7, 22.7, 100),
    (11, 7, 1, 22.7, 100),
    (12, 6, 9, 4.1, 25),
]

CAR_FREE_ROUTES = {7, 8, 9, 12}

ROUTES_OF_VESSEL: dict[int, Sequence[int]] = {
    1: (5, 6, 10, 11),
    3: (1, 2, 3, 4),
    4: (3, 4, 10, 11),
    5: (7, 8),
    6: (1, 2),
    7: (7, 9),
}

GIVEN_NAMES = (
    "Agnes Bram Cora Daniel Edith Fergus Greta Harald Ines Jonas Kirsty Lewis "
    "Mairi Nils Orla Pavel Rhona Stellan Tilda Wendel"
).split()
FAMILY_NAMES = (
    "Abbot Brandt Crail Drever Eskdale Flett Garson Heddle Isbister Kirkness "
    "Linklater Mowat Norn Peace Rendall Sinclair Tulloch Wick"
).split()
TOWNS = (
    *["Ardhaven"] * 4,
    *["Brockness"] * 3,
    *["Grisby"] * 2,
    *["Kelby"] * 2,
    *["Stonebridge"] * 2,
    "Marlow Cross",
    "Oakfell",
    "Quill End",
    "Tarrow",
    "Wexcombe",
    None,
)
CHANNELS = ("App", "App", "App", "App", "Web", "Web", "Web", "Desk", "Desk", "Phone")
DEPARTURES = ("07:15", "09:40", "12:05", "15:30", "18:10")


def build_database(path: str | os.PathLike[str]) -> None:
    """Write the demo database to a new SQLite file.

    Args:
        path: Where to create the file.

    Raises:
        FileExistsError: If there is already something at `path`.
    """
    target = Path(path)
    target.open("xb").close()
    with ExitStack() as unfinished:
        unfinished.callback(target.unlink)
        with closing(sqlite3.connect(target)) as connection:
            connection.executescript(f"PRAGMA page_size = 4096; {SCHEMA}")
            with connection:
                _fill(connection)
        unfinished.pop_all()


def _fill(connection: sqlite3.Connection) -> None:
    """Insert all rows, parents before children.

    Args:
        connection: An open connection to a database that has only the schema.
    """
    rng = Random(SEED)
    fares = _fares()
    sailings = _sailings(rng)
    bookings = _bookings(rng, sailings)
    _insert(connection, "ports", PORTS)
    connection.execute(LATIN1_LOCAL_NAME)
    _insert(connection, "vessels", VESSELS)
    _insert(connection, "routes", ROUTES)
    _insert(connection, "fares", ((*key, price) for key, price in fares.items()))
    _insert(connection, "customers", _customers(rng))
    _insert(connection, "sailings", sailings)
    _insert(connection, "bookings", bookings)
    _insert(connection, "booking_lines", _booking_lines(rng, sailings, bookings, fares))


def _insert(connection: sqlite3.Connection, table: str, rows: Iterable[Row]) -> None:
    """Insert rows into a table.

    Args:
        connection: An open connection.
        table: Name of the table.
        rows: Full rows in column order.
    """
    listed = list(rows)
    marks = ", ".join("?" for _ in listed[0])
    connection.executemany(f"INSERT INTO {table} VALUES ({marks})", listed)  # noqa: S608 - our own names


def _pick(rng: Random, items: Sequence[T]) -> T:
    """Choose one item, each with the same chance.

    Args:
        rng: The random generator.
        items: A sequence that is not empty.

    Returns:
        The chosen item.
    """
    return items[int(rng.random() * len(items))]


def _between(rng: Random, low: int, high: int) -> int:
    """Choose a whole number.

    Args:
        rng: The random generator.
        low: Smallest possible result.
        high: Largest possible result.

    Returns:
        A number from `low` to `high`, both included.
    """
    return low + int(rng.random() * (high - low + 1))


def _fares() -> dict[tuple[int, str], float]:
    """Work out the price list.

    Returns:
        Prices by route number and category. A return trip costs the same both ways.
    """
    fares: dict[tuple[int, str], float] = {}
    for route_id, _, _, distance, _ in ROUTES:
        tenths = 32 + int(distance * 6)
        fares[route_id, "adult"] = tenths / 10
        fares[route_id, "child"] = (tenths // 2) / 10
        fares[route_id, "bicycle"] = 3.5
        fares[route_id, "dog"] = 2.0
        if route_id not in CAR_FREE_ROUTES:
            fares[route_id, "car"] = tenths * 3 / 10
    return fares


def _customers(rng: Random) -> list[Row]:
    """Invent the customers. Some of them share a name.

    Args:
        rng: The random generator.

    Returns:
        Rows of the table `customers`.
    """
    rows: list[Row] = []
    joined = sorted(_between(rng, 0, 1090) for _ in range(CUSTOMER_COUNT))
    for customer_id, days in enumerate(joined, start=1):
        given, family = _pick(rng, GIVEN_NAMES), _pick(rng, FAMILY_NAMES)
        email = f"{given}.{family}{customer_id}@example.org".lower()
        has_email = rng.random() < 0.85
        referred = customer_id > 5 and rng.random() < 0.3
        rows.append(
            (
                customer_id,
                f"{given} {family}",
                _pick(rng, TOWNS),
                email if has_email else None,
                int(rng.random() < 0.35),
                (date(2021, 3, 1) + timedelta(days=days)).isoformat(),
                _between(rng, 1, customer_id - 1) if referred else None,
            )
        )
    return rows


def _sailings(rng: Random) -> list[Sailing]:
    """Plan the season. A vessel sails at most once a day.

    Args:
        rng: The random generator.

    Returns:
        Rows of the table `sailings`, in order of departure day.
    """
    rows: list[Sailing] = []
    for offset in range(SEASON_DAYS):
        day = (SEASON_START + timedelta(days=offset)).isoformat()
        for vessel_id, route_ids in ROUTES_OF_VESSEL.items():
            if rng.random() >= 0.28:
                continue
            route_id, hour = _pick(rng, route_ids), _pick(rng, DEPARTURES)
            status, delay = _outcome(rng)
            rows.append((len(rows) + 1, route_id, vessel_id, day, hour, status, delay))
    return rows


def _outcome(rng: Random) -> tuple[str, int | None]:
    """Decide how a sailing went.

    Args:
        rng: The random generator.

    Returns:
        The status and the delay in minutes. A cancelled sailing has no delay.
    """
    chance = rng.random()
    if chance < 0.09:
        return "Cancelled", None
    if chance < 0.3:
        return "Delayed", _between(rng, 1, 14) * 5
    return "Sailed", 0


def _bookings(rng: Random, sailings: Sequence[Sailing]) -> list[Booking]:
    """Invent the bookings. The customers with the highest numbers book nothing.

    Args:
        rng: The random generator.
        sailings: Rows of the table `sailings`.

    Returns:
        Rows of the table `bookings`.
    """
    rows: list[Booking] = []
    for booking_id in range(1, BOOKING_COUNT + 1):
        sailing_id, _, _, day, *_ = _pick(rng, sailings)
        # The smaller of two draws favours low numbers: old customers book more often,
        # and most bookings are made shortly before the sailing.
        customer_id = min(_between(rng, 1, CUSTOMER_COUNT - 6) for _ in range(2))
        lead = timedelta(days=min(_between(rng, 0, 60) for _ in range(2)))
        booked_on = (date.fromisoformat(day) - lead).isoformat()
        rows.append((booking_id, sailing_id, customer_id, booked_on, _pick(rng, CHANNELS)))
    return rows


def _booking_lines(
    rng: Random,
    sailings: Sequence[Sailing],
    bookings: Sequence[Booking],
    fares: dict[tuple[int, str], float],
) -> list[Row]:
    """Fill each booking with one line for adults and perhaps others.

    Args:
        rng: The random generator.
        sailings: Rows of the table `sailings`.
        bookings: Rows of the table `bookings`.
        fares: Prices by route number and category.

    Returns:
        Rows of the table `booking_lines`.
    """
    route_of = {sailing[0]: sailing[1] for sailing in sailings}
    extras = (("child", 0.3, 3), ("car", 0.35, 1), ("bicycle", 0.2, 4), ("dog", 0.12, 2))
    rows: list[Row] = []
    for booking_id, sailing_id, *_ in bookings:
        wanted = [("adult", _between(rng, 1, 4))]
        for category, chance, most in extras:
            if rng.random() < chance:
                wanted.append((category, _between(rng, 1, most)))
        route_id = route_of[sailing_id]
        priced = [(c, n, fares[route_id, c]) for c, n in wanted if (route_id, c) in fares]
        rows.extend((booking_id, no, *line) for no, line in enumerate(priced, start=1))
    return rows
