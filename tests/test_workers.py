"""Processes of our own; what they do when they are killed is in benchmark/test_local_engine.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from uvast.errors import DataError
from uvast.workers import Workers, reason_of_failure, threads_of_each

ECHO = """
import sys
from uvast.workers import serve

def work(task):
    print(task.strip())
    print("über")
    return "it says no" if "no" in task else None

serve(work)
"""


@pytest.fixture
def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "echo_worker.py").write_text(ECHO, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")
    return "echo_worker"


def test_each_task_is_heard_and_its_failure_told(echo: str) -> None:
    heard: list[tuple[int, str]] = []
    tasks = ["yes", "no", "again"]
    ended = dict(Workers(echo, 2).run(tasks, lambda place, line: heard.append((place, line))))
    assert ended == {0: None, 1: "it says no", 2: None}
    assert sorted(heard) == sorted((k, line) for k in range(3) for line in (tasks[k], "über"))


SLOW = """
import time
from pathlib import Path
from uvast.workers import serve

def work(task):
    if "fail" in task:
        return "it says no"
    time.sleep(15)
    Path(task.strip()).touch()

serve(work)
"""


def test_when_one_is_given_up_none_goes_on_and_none_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_worker.py").write_text(SLOW, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = [tmp_path / str(number) for number in range(3)]
    ended = Workers("slow_worker", 2).run(["fail", *map(str, done)])
    assert next(iter(ended)) == (0, "it says no")
    ended.close()  # as a caller does that raises an error
    assert not any(path.exists() for path in done)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 cannot do it")
def test_they_import_nothing_from_the_working_directory(
    echo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sent").mkdir()
    (tmp_path / "sent" / "secrets.py").write_text("raise SystemExit('it ran')", encoding="utf-8")
    (tmp_path / "sent" / "tempfile.py").write_text("raise SystemExit('it ran')", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "sent")
    assert dict(Workers(echo).run(["yes"])) == {0: None}


def test_what_listens_may_stop_them(echo: str) -> None:
    def refuse(place: int, line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(Workers(echo, 2).run(["one", "two", "three"], refuse))


def test_a_module_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    ((place, reason),) = Workers("uvast.nowhere").run(["task"])
    assert place == 0
    assert reason is not None
    assert "No module named uvast.nowhere" in reason


def test_jobs_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("uvast.workers.n_cores", lambda: 8)
    assert Workers("module", 3)._threads() == "2"
    assert threads_of_each(100) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert Workers("module", 3)._threads() == "5"


def test_a_crash_leaves_its_traceback(tmp_path: Path) -> None:
    report = tmp_path / "error.txt"

    def crash() -> None:
        raise ValueError("a bug")

    def refuse() -> None:
        raise DataError("is empty", where="a file")

    assert reason_of_failure(crash, report) == f"ValueError: a bug; see {report}"
    assert "in crash" in report.read_text()
    assert reason_of_failure(refuse, report) == "a file: is empty"
    assert report.exists()
    assert reason_of_failure(list, report) is None
    assert not report.exists()
