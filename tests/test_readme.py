"""Every command and Python block of the README runs, on a small dataset of one's own."""

from __future__ import annotations

import csv
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import uvast
from in_process import uvast as run_here
from uvast.features import generate_videos, motion_vocabulary

README = Path(__file__).parents[1] / "README.md"
LITTLE = (
    "--set train.epochs=2 --set train.alignment_epochs=1 --set train.folds=0 "
    "--set model.n_encoder_layers=5"
)
LESS = {
    "train": LITTLE,
    "benchmark": f"{LITTLE} --splits 1 --decodings none",
    "extract": "--model pixels",
}
"""What the test adds to a command so that it takes seconds."""


def blocks(language: str) -> list[str]:
    text = README.read_text("utf-8")
    found = re.findall(r"^( *)```(\w*)\n(.*?)^\1```$", text, re.MULTILINE | re.DOTALL)
    return [block for _, named, block in found if named == language]


def commands() -> list[str]:
    lines = [line.strip() for block in blocks("") for line in block.splitlines()]
    return [line.partition("  #")[0].strip() for line in lines if line.startswith("uvast ")]


@pytest.fixture
def own_data(tiny_path: Path, tmp_path: Path) -> Path:
    """`my-data`, as a user would have it."""
    source = uvast.Dataset.open(tiny_path)
    data = tmp_path / "my-data"
    for folder in (data / "features", data / "groundTruth"):
        folder.mkdir(parents=True)
    rows = []
    for index, name in enumerate(source.names):
        own = f"subject{index % 4}_{index}"
        shutil.copy(source.features_path(name), data / "features" / f"{own}.npy")
        shutil.copy(source.labels_path(name), data / "groundTruth" / f"{own}.txt")
        segmentation = source.source_segmentation(name)
        drawn = segmentation.sampled_timestamps(np.random.default_rng(index))
        labels = source.vocabulary.decode(segmentation.transcript)
        rows += [(own, frame / 15, label) for frame, label in zip(drawn, labels, strict=True)]
    (data / "dataset.toml").write_text("frames_per_second = 15\n")
    write_clicks(data / "timestamps.csv", rows)
    return tmp_path


@pytest.fixture
def own_videos(tmp_path: Path) -> Path:
    """`recordings`, `clicks.csv` and `new.mp4`."""
    truths = generate_videos(tmp_path / "recordings", n_videos=4, seconds=6, width=48, height=36)
    names = motion_vocabulary().names
    new = max(truths)
    write_clicks(
        tmp_path / "clicks.csv",
        [
            (video, (one.start + one.end) / 60, names[one.action])
            for video, truth in truths.items()
            if video != new
            for one in truth.segments
        ],
    )
    (tmp_path / "recordings" / f"{new}.mp4").rename(tmp_path / "new.mp4")
    return tmp_path


def write_clicks(path: Path, rows: list[tuple[str, float, str]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("video", "time", "label"), *rows])


def test_the_readme_names_both_make_targets() -> None:
    makefile = (README.parent / "Makefile").read_text("utf-8")
    targets = re.findall(r"^make (\w+)", "\n".join(blocks("")), re.MULTILINE)
    assert targets == ["demo", "test"]
    assert all(f"\n{target}:" in makefile for target in targets)


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/own-videos.md"])
def test_commands_begin_in_a_folder_that_the_page_names(page: str) -> None:
    before = (README.parent / page).read_text("utf-8").partition("```")[0].strip()
    assert "repository" in before.splitlines()[-1] or "README.md" in before.splitlines()[-1]


def test_every_python_block_runs(tmp_path: Path) -> None:
    (block,) = blocks("python")
    finished = subprocess.run(
        [sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    assert len(finished.stdout.splitlines()) >= 4
    assert re.fullmatch(r"\S+ \S+ \d+\.\d s to \d+\.\d s", finished.stdout.splitlines()[0])


ON_VIDEOS = ["init", "extract", "import", "train", "segment", "report", "overlay", "export"]
ON_DATA = ["data", "data", "train", "segment", "evaluate", "report", "pseudo-label", "train"]
TO_COMPARE = ["benchmark", "reproduce"]


def test_every_command_is_known() -> None:
    assert [command.split()[1] for command in commands()] == [*ON_VIDEOS, *ON_DATA, *TO_COMPARE]


def test_every_command_runs_on_own_videos(
    own_videos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(own_videos)
    run_all(commands()[: len(ON_VIDEOS)])
    assert (own_videos / "predictions" / "new.json").exists()
    assert (own_videos / "annotated.mp4").exists()
    assert "ANNOTATION_DOCUMENT" in (own_videos / "new.eaf").read_text()


def test_every_command_runs_on_own_data(own_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own_data)
    run_all(commands()[len(ON_VIDEOS) : -len(TO_COMPARE)])
    assert (own_data / "click-run" / "best.safetensors").exists()


def test_every_comparison_runs_on_own_data(own_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own_data)
    split = [command for command in commands() if command.startswith("uvast data split")]
    run_all([*split, *commands()[-len(TO_COMPARE) :]])
    assert len(list((own_data / "table").rglob("scores.json"))) == 4
    assert list((own_data / "tables").glob("k-medoids*.md"))


def run_all(lines: list[str]) -> None:
    """The first in a process of its own, as a shell starts it; the others need not wait for one."""
    for place, line in enumerate(lines):
        words = shlex.split(f"{line} {LESS.get(line.split()[1], '')}")
        finished = run_here(*words[1:]) if place else run_alone(words)
        assert finished.returncode == 0, f"{line}\n{finished.stderr}"


def run_alone(words: list[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)
