"""Local processes: what is finished stays, what crashes is told, what is left is done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from benchmark_types import MakeCell

from in_process import uvast
from uvast.benchmark.cell_scores import is_finished
from uvast.benchmark.engine import LocalEngine, SerialEngine, run_cells
from uvast.config import Config
from uvast.errors import OutputError

# Put before the package by PYTHONPATH: the first process of a cell that finds the flag is killed.
KILLER = """
import os, signal, sys
flag = os.environ.get("KILL_FLAG", "")
if "uvast.benchmark.engine" in sys.orig_argv and flag:
    try:
        os.rename(flag, flag + ".used")
    except OSError:
        pass
    else:
        os.kill(os.getpid(), signal.SIGKILL)
"""
MISSING = "{}/nowhere: does not exist; give the folder of a dataset"


def times(folder: Path) -> dict[str, int]:
    return {str(p): p.stat().st_mtime_ns for p in sorted(folder.rglob("*")) if p.is_file()}


def wait_for(condition: Callable[[], object], seconds: float = 240) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@pytest.fixture
def command(tiny_path: Path, small_config: Config, tmp_path: Path) -> list[str]:
    settings = ("model.n_encoder_layers=2", "model.n_stages=1", "model.width=8", "train.epochs=2")
    options = [part for one in settings for part in ("--set", one)]
    start = [sys.executable, "-m", "uvast", "benchmark", str(tiny_path), "--models", "ms-tcn"]
    return [*start, "--durations", "none", "--out", str(tmp_path / "bench"), *options]


@contextmanager
def started(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A command with a process group of its own; nothing of it is left, however the test ends."""
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_benchmark_killed_half_way_does_only_what_is_left(
    command: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "bench"
    with started(command):
        wait_for(lambda: list(out.rglob("scores.json")))
    (finished,) = [path.parent for path in out.rglob("scores.json")]
    before = times(finished)
    again = uvast(*command[3:])
    assert again.returncode == 0, again.stderr
    assert len(list(out.rglob("scores.json"))) == 2
    assert times(finished) == before
    assert "MS-TCN" in again.stdout
    assert "2 splits" in again.stdout


def test_no_run_outlives_a_killed_benchmark(command: list[str], tmp_path: Path) -> None:
    long = [*command, "--set", "train.epochs=1000000", "--set", "train.checkpoint_seconds=3600"]
    with started(long) as parent:
        wait_for(lambda: list((tmp_path / "bench").rglob("run.json")))
        tasks = Path(f"/proc/{parent.pid}/task").iterdir()
        (child,) = {pid for task in tasks for pid in (task / "children").read_text().split()}
        assert _runs(int(child))
        parent.kill()
        parent.wait()
        wait_for(lambda: not _runs(int(child)))


def test_an_interrupt_of_the_parent_alone_ends_its_runs(command: list[str], tmp_path: Path) -> None:
    with started([*command, "--set", "train.epochs=1000000"]) as parent:
        wait_for(lambda: list((tmp_path / "bench").rglob("run.json")))
        parent.send_signal(signal.SIGINT)
        wait_for(lambda: parent.poll() is not None, seconds=60)
        assert parent.returncode not in (0, None)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_killed_cell_is_told_and_stops_no_other(
    make_cell: MakeCell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(KILLER)
    (tmp_path / "flag").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"), prepend=os.pathsep)
    monkeypatch.setenv("KILL_FLAG", str(tmp_path / "flag"))
    absent = replace(make_cell(model="absent"), dataset=str(tmp_path / "nowhere"))
    cells, out = [make_cell(split=1), absent, make_cell(split=2)], tmp_path / "out"
    errors = [MISSING.format(tmp_path), None]
    outcomes = list(run_cells(cells, out, LocalEngine(jobs=1)))
    assert [one.error for one in outcomes] == ["killed by SIGKILL", *errors]
    assert [is_finished(cell, out) for cell in cells] == [False, False, True]
    again = {one.cell.key: one.error for one in run_cells(cells, out, SerialEngine())}
    assert again == {cell.key: error for cell, error in zip(cells, (None, *errors), strict=True)}
    assert is_finished(cells[0], out)


def test_a_crash_leaves_its_traceback(
    make_cell: MakeCell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("uvast.benchmark.run_cell.train", crash)
    one = make_cell()
    (outcome,) = SerialEngine().run([one], tmp_path)
    report = tmp_path / one.key / "error.txt"
    assert outcome.error == f"RuntimeError: a bug; see {report}"
    assert "Traceback" in report.read_text()
    monkeypatch.undo()
    assert [one.error for one in SerialEngine().run([one], tmp_path)] == [None]
    assert not report.exists()


def test_other_settings_are_refused_before_anything_runs(
    make_cell: MakeCell, tmp_path: Path
) -> None:
    assert [one.error for one in run_cells([make_cell()], tmp_path, SerialEngine())] == [None]
    before = times(tmp_path)
    changed = [make_cell(split=2, train__epochs=2), make_cell(train__epochs=2)]
    with pytest.raises(OutputError, match=r"\(train.epochs is 1 there, 2 here\); choose another"):
        list(run_cells(changed, tmp_path, SerialEngine()))
    assert times(tmp_path) == before


def test_a_cell_whose_files_are_broken_stops_no_other(make_cell: MakeCell, tmp_path: Path) -> None:
    cells = [make_cell(split=1), make_cell(split=2)]
    list(run_cells(cells[:1], tmp_path, SerialEngine()))
    for name in ("scores.json", "run.json"):
        (tmp_path / cells[0].key / name).write_text("{")
        outcomes = {one.cell.key: one.error for one in run_cells(cells, tmp_path, SerialEngine())}
        assert f"{name}: is not" in outcomes[cells[0].key]
        assert outcomes[cells[1].key] is None


def test_a_file_in_the_place_of_the_folder_is_refused(make_cell: MakeCell, tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(OutputError, match="out: is a file; choose a folder"):
        list(run_cells([make_cell()], tmp_path / "out", SerialEngine()))
