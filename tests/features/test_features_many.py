"""Many videos: side by side, around bad ones, and on after a kill."""

from __future__ import annotations

import csv
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from video_files import write_video

from uvast.errors import ConfigError
from uvast.features import Order, extract_all
from uvast.features.models import ModelName, parse_models

PIXELS = parse_models("pixels")


def orders(folder: Path, out: Path, names: str, models=PIXELS) -> list[Order]:
    for name in names:
        write_video(folder / f"{name}.mp4", 20)
    return [Order(folder / f"{name}.mp4", out, models) for name in names]


@pytest.mark.parametrize("n_processes", [1, 2])
def test_a_bad_video_never_stops_the_others(n_processes, tmp_path):
    work = orders(tmp_path, tmp_path / "out", "abcd")
    (tmp_path / "b.mp4").write_text("no video")
    outcomes = {one.name: one for one in extract_all(work, n_processes=n_processes)}
    assert {name: one.state for name, one in outcomes.items()} == {
        "a": "made",
        "b": "failed",
        "c": "made",
        "d": "made",
    }
    assert "b.mp4: cannot be read as a video" in str(outcomes["b"].error)
    assert sorted(path.name for path in (tmp_path / "out").glob("*.npy")) == [
        "a.npy",
        "c.npy",
        "d.npy",
    ]


def test_processes_give_the_same_numbers(tmp_path):
    list(extract_all(orders(tmp_path, tmp_path / "one", "ab")))
    list(extract_all(orders(tmp_path, tmp_path / "two", "ab"), n_processes=2))
    for name in "ab":
        first, second = (np.load(tmp_path / way / f"{name}.npy") for way in ("one", "two"))
        assert np.array_equal(first, second)


def test_a_process_that_dies_costs_one_video(tmp_path):
    work = orders(tmp_path, tmp_path / "out", "abcd")
    write_video(tmp_path / "a.mp4", 2000)
    killed: list[int] = []

    def kill_the_first(name: str, share: float) -> None:
        if name == "a" and not killed:
            for child in multiprocessing.active_children():
                os.kill(child.pid, signal.SIGKILL)
                killed.append(child.pid)

    outcomes = list(extract_all(work, n_processes=2, on_progress=kill_the_first))
    failed = [one for one in outcomes if one.state == "failed"]
    assert sorted(one.name for one in outcomes) == list("abcd")
    assert "a" in [one.name for one in failed]
    assert len(failed) <= len(killed)
    assert "its process died (killed by SIGKILL); leave it out or convert it" in str(
        failed[0].error
    )


@pytest.mark.parametrize("n_processes", [1, 2])
def test_what_is_wrong_for_every_video_is_said_once(n_processes, tmp_path):
    models = (ModelName("onnx", str(tmp_path / "m.onnx")),)
    (tmp_path / "m.toml").write_text("height = 1")
    work = orders(tmp_path, tmp_path / "out", "ab", models)
    with pytest.raises(ConfigError, match=r"m\.toml: width: Field required"):
        list(extract_all(work, n_processes=n_processes))
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("fault", [ValueError("odd\nvery"), csv.Error("odd")])
def test_a_fault_that_nobody_expects_costs_one_source(fault, tmp_path, monkeypatch):
    def fail(order, _tell):
        raise fault

    monkeypatch.setattr("uvast.features.many.extract", fail)
    (outcome,) = extract_all([Order(tmp_path / "a.csv", tmp_path, parse_models("table"))])
    assert str(outcome.error) == f"{tmp_path / 'a.csv'}: odd"


def test_an_interrupt_leaves_no_folders_behind(tmp_path):
    work = orders(tmp_path, tmp_path / "out", "ab")
    for name in "ab":
        write_video(tmp_path / f"{name}.mp4", 2000)
    seen: list[list[str]] = []

    def interrupt(name: str, share: float) -> None:
        seen.append([path.name for path in (tmp_path / "out").iterdir()])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(extract_all(work, n_processes=2, on_progress=interrupt))
    assert seen[0]
    assert list((tmp_path / "out").iterdir()) == []
    assert not multiprocessing.active_children()


def test_a_worker_that_others_end_says_so(tmp_path):
    work = orders(tmp_path, tmp_path / "out", "ab")
    write_video(tmp_path / "a.mp4", 2000)

    def end(name: str, share: float) -> None:
        if name == "a":
            for child in multiprocessing.active_children():
                child.terminate()

    outcomes = list(extract_all(work, n_processes=2, on_progress=end))
    failed = {one.name: str(one.error) for one in outcomes if one.state == "failed"}
    assert "its process died (killed by SIGTERM)" in failed["a"]


def test_extraction_goes_on_after_a_kill(tmp_path):
    """Whatever a kill leaves, the same command ends with whole features."""
    for name in "abc":
        write_video(tmp_path / f"{name}.mp4", 600)
    command = [sys.executable, "-m", "uvast", "extract", str(tmp_path), "--model", "pixels"]
    command += ["--out", str(tmp_path / "out")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        for _ in range(600):
            if (tmp_path / "out" / "a.npy").exists() or process.poll() is not None:
                break
            time.sleep(0.05)
        process.kill()
    kept = (tmp_path / "out" / "a.npy").stat().st_mtime_ns
    again = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert '"state": "kept"' in again.stdout
    assert (tmp_path / "out" / "a.npy").stat().st_mtime_ns == kept
    assert [np.load(tmp_path / "out" / f"{name}.npy").shape for name in "abc"] == [(300, 288)] * 3
