"""Deadlines: when they fire, that they end with their query, and that they cost nothing when nothing runs."""

from __future__ import annotations

import threading
import time

import pytest

from sqlmetrics.databases.deadline import Cancellation, Deadline


class Stops:
    """Counts the calls of `stop` and wakes whoever waits for one."""

    def __init__(self) -> None:
        self.count = 0
        self.happened = threading.Event()

    def __call__(self) -> None:
        self.count += 1
        self.happened.set()


def test_a_deadline_fires_on_time() -> None:
    stops, started = Stops(), time.perf_counter()
    with Deadline(0.2, stops) as deadline:
        assert stops.happened.wait(2.0)
    assert 0.2 <= time.perf_counter() - started < 0.5
    assert deadline.expired


def test_a_deadline_does_not_fire_early() -> None:
    stops = Stops()
    with Deadline(5.0, stops) as deadline:
        time.sleep(0.1)
    assert (stops.count, deadline.expired) == (0, False)


def test_a_deadline_keeps_asking() -> None:
    stops = Stops()
    with Deadline(0.05, stops):
        time.sleep(0.6)
    assert stops.count >= 3


@pytest.mark.parametrize("blocking", [False, True])
def test_a_deadline_never_fires_after_its_block(blocking: bool) -> None:
    stops = Stops()
    with Deadline(0.05, stops, blocking=blocking):
        stops.happened.wait(2.0)
    count = stops.count
    time.sleep(0.3)
    assert stops.count == count


def test_a_slow_stop_does_not_delay_other_deadlines() -> None:
    stops, release = Stops(), threading.Event()
    with Deadline(0.05, lambda: release.wait(2.0), blocking=True), Deadline(0.2, stops):
        assert stops.happened.wait(1.0)
        release.set()


def test_a_cancellation_fires_before_the_deadline() -> None:
    stops, cancellation = Stops(), Cancellation()
    started = time.perf_counter()
    with Deadline(30.0, stops, cancellation):
        threading.Timer(0.1, cancellation.cancel).start()
        assert stops.happened.wait(2.0)
    assert time.perf_counter() - started < 0.5


def test_a_cancellation_stops_what_starts_later() -> None:
    stops, cancellation = Stops(), Cancellation()
    cancellation.cancel()
    with Deadline(30.0, stops, cancellation):
        assert stops.happened.wait(1.0)


def test_a_cancellation_stops_every_query_under_it() -> None:
    first, second, cancellation = Stops(), Stops(), Cancellation()
    with Deadline(30.0, first, cancellation), Deadline(30.0, second, cancellation):
        cancellation.cancel()
        assert first.happened.wait(1.0)
        assert second.happened.wait(1.0)


def test_a_cancellation_forgets_queries_that_ended() -> None:
    stops, cancellation = Stops(), Cancellation()
    with Deadline(30.0, stops, cancellation):
        pass
    cancellation.cancel()
    time.sleep(0.1)
    assert stops.count == 0


def test_remaining_time_runs_down_to_zero() -> None:
    with Deadline(0.1, Stops()) as deadline:
        assert 0.0 < deadline.remaining_s <= 0.1
        deadline.ends_at = 0.0
        assert deadline.remaining_s == 0.0


def test_many_deadlines_fire_together() -> None:
    stops = [Stops() for _ in range(200)]
    deadlines = [Deadline(0.1, stop) for stop in stops]
    for deadline in deadlines:
        deadline.__enter__()
    assert all(stop.happened.wait(2.0) for stop in stops)
    for deadline in deadlines:
        deadline.__exit__(None, None, None)


def test_one_thread_watches_all_deadlines() -> None:
    with Deadline(5.0, Stops()), Deadline(5.0, Stops()):
        names = [thread.name for thread in threading.enumerate()]
    assert names.count("sqlmetrics-deadlines") == 1


def test_the_watcher_is_idle_when_nothing_runs() -> None:
    with Deadline(5.0, Stops()):
        pass
    time.sleep(1.5)
    used = time.process_time()
    time.sleep(0.5)
    assert time.process_time() - used < 0.01


def test_the_watcher_wakes_after_its_sleep() -> None:
    with Deadline(5.0, Stops()):
        pass
    time.sleep(1.5)
    stops = Stops()
    with Deadline(0.1, stops):
        assert stops.happened.wait(1.0)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_stop_that_raises_does_not_end_later_deadlines() -> None:
    def fail() -> None:
        raise RuntimeError("the connection is closed")

    with Deadline(0.05, fail):
        time.sleep(0.3)
    stops = Stops()
    with Deadline(0.1, stops):
        assert stops.happened.wait(1.0)
