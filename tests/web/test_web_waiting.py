"""Whoever waits for a lock waits alone: the event loop answers others meanwhile."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from web_project import Client

from uvast.web.app import App


@contextmanager
def held(lock: AbstractContextManager[Any]) -> Iterator[None]:
    """By another thread."""
    is_held, go = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            is_held.set()
            assert go.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert is_held.wait(60)
        yield
    finally:
        go.set()
        thread.join()


def answers(client: Client) -> None:
    """To a question that has nothing to do with any lock."""
    time.sleep(0.1)  # until the other question waits, if it does
    assert client.start("GET", "/api/formats").result(10).status_code == 200


@pytest.mark.parametrize(
    ("method", "address", "status"),
    [("GET", "jobs", 200), ("GET", "jobs/7", 404), ("POST", "jobs/7/cancel", 404)],
)
def test_questions_about_jobs_wait_alone(
    client: Client, method: str, address: str, status: int
) -> None:
    with held(client.app.jobs._lock):
        waiting = client.start(method, f"/api/{address}", json={})
        answers(client)
        assert not waiting.done()
    assert waiting.result(60).status_code == status


def test_undo_waits_alone(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    client.change("cup", {"do": "add", "kind": "click", "label": "reach", "start": 1.0})
    store, undone, go = client.app.store, threading.Event(), threading.Event()
    real = store.undo

    def undo(*arguments: Any, **options: Any) -> Any:
        entry = real(*arguments, **options)
        undone.set()
        assert go.wait(60)
        return entry

    monkeypatch.setattr(store, "undo", undo)
    waiting = client.start("POST", "/api/undo", json={"author": "anna"})
    assert undone.wait(60)
    with held(store._lock):  # when all that is left is to say what became of the videos
        go.set()
        answers(client)
        assert not waiting.done()
    assert waiting.result(60).json()["videos"] == {"cup": 2}


def test_jobs_do_not_wait_while_a_round_is_kept(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, found, done = client.app.jobs, list[bool](), threading.Event()

    def look() -> None:
        found.append(jobs._lock.acquire(timeout=2))
        if found[0]:
            jobs._lock.release()

    def keep(_app: App) -> None:
        other = threading.Thread(target=look)
        other.start()
        other.join()
        done.set()

    monkeypatch.setattr("uvast.web.app.keep_round", keep)
    monkeypatch.setattr("uvast.web.app.SECONDS_BETWEEN_SAVES", 0.01)
    jobs.add("segment", [sys.executable, "-c", "pass"])
    client.app._keeper.start()
    assert done.wait(60)
    assert found == [True]
