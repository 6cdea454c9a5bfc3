"""Pipes, devices and folders in place of files: one sentence, and no command hangs."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

from in_process import uvast
from uvast.config import Config
from uvast.training import train

SECONDS = 60.0


class TooLateError(BaseException):
    """Nothing in between takes it for a fault of a file."""


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    def too_late(number: int, frame: FrameType | None) -> None:
        raise TooLateError

    before = signal.signal(signal.SIGALRM, too_late)
    signal.setitimer(signal.ITIMER_REAL, SECONDS, SECONDS)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def run(tiny_path: Path, small_config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("odd") / "run"
    settings = {"model.kind": "ms-tcn", "decode.transcript": "frames", "decode.durations": "none"}
    config = small_config.replaced(**settings, **{"train.epochs": 1, "train.alignment_epochs": 0})
    train(tiny_path, folder, config=config, split=1)
    return folder


@pytest.fixture(params=["pipe", "device", "folder", "nothing", "loop"])
def odd(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """What has the name of a file and is none."""
    path = tmp_path / "odd.toml"
    if request.param == "pipe":
        os.mkfifo(path)
    elif request.param == "folder":
        path.mkdir()
    else:
        path.symlink_to({"device": "/dev/zero", "nothing": "gone", "loop": path}[request.param])
    return path


@pytest.mark.parametrize(
    "command",
    [
        "config --config ODD",
        "config --preset ODD",
        "benchmark DATA --out OUT --models ODD",
        "benchmark DATA --out OUT --models ms-tcn --supervision timestamps --timestamps ODD",
        "reproduce encoders DATA --out OUT --preset ODD",
        "sweep DATA --out OUT --set-range model.width=8,16 --preset ODD",
        "segment ODD DATA --out OUT",
        "segment RUN ODD --out OUT",
        "segment RUN ODD/odd.npy --out OUT",
    ],
)
def test_what_is_no_file_is_one_sentence(
    command: str, odd: Path, run: Path, tiny_path: Path, tmp_path: Path
) -> None:
    places = {"ODD": str(odd), "DATA": str(tiny_path), "OUT": str(tmp_path / "out"), "RUN": run}
    words = [places.get(word, word) for word in command.split()]
    finished = uvast(*(str(word).replace("ODD", str(odd)) for word in words))
    assert finished.returncode in (1, 2)
    last = finished.stderr.splitlines()[-1]
    assert str(odd) in finished.stderr
    assert len(last) < 1000
    assert "Traceback" not in finished.stderr


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_an_odd_video_is_skipped_and_the_others_are_segmented(
    run: Path, tiny_path: Path, tmp_path: Path, kind: str
) -> None:
    good = min((tiny_path / "features").glob("*.npy"))
    np.save(tmp_path / "good.npy", np.load(good))
    if kind == "pipe":
        os.mkfifo(tmp_path / "bad.npy")
    else:
        (tmp_path / "bad.npy").symlink_to("/dev/zero")
    finished = uvast("segment", run, tmp_path, "--out", tmp_path / "out")
    assert finished.returncode == 1
    assert "skipped: " in finished.stderr
    assert (tmp_path / "out" / "good.txt").exists()


def test_a_name_that_is_no_text_is_skipped_and_the_others_are_segmented(
    run: Path, tiny_path: Path, tmp_path: Path
) -> None:
    folder = tmp_path / os.fsdecode(b"videos \xff")
    folder.mkdir()
    features = min((tiny_path / "features").glob("*.npy")).read_bytes()
    for name in (b"good.npy", b"bad\xff.npy"):
        (folder / os.fsdecode(name)).write_bytes(features)
    command = ("segment", run, folder, "--out", tmp_path / "out")
    for _ in range(2):
        finished = uvast(*command, "--json")
        assert finished.returncode == 1
        assert "bad\\xff.npy: has a name that is not UTF-8; rename it" in finished.stderr
        assert {path.name for path in (tmp_path / "out").iterdir()} == {
            "good.txt",
            "good.json",
            "segmentation.json",
        }
    assert json.loads(finished.stdout)["earlier"] == ["good"]


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"model": 5}', '"\\ud800"', "9" * 5000])
def test_a_spoilt_manifest_is_one_sentence(
    run: Path, tiny_path: Path, tmp_path: Path, content: str
) -> None:
    (tmp_path / "segmentation.json").write_text(content)
    finished = uvast("segment", run, tiny_path, "--split", 1, "--out", tmp_path)
    assert finished.returncode == 2
    assert finished.stderr.startswith(f"error: {tmp_path / 'segmentation.json'}: ")
    assert finished.stderr.endswith("remove this file; the predictions stay as they are\n")
    assert finished.stderr.count("\n") == 1
