"""Run folders: what is in them, which checkpoint is meant."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from uvast.config import Config
from uvast.errors import CheckpointError, CorruptFileError, MissingFileError, OutputError
from uvast.runs import RunFolder, RunInfo, checkpoint_path, is_run, versions

INFO = RunInfo("/data", 1, 7, "timestamps", None, ("a", "b"), ("c",), versions())


def test_a_run_reads_back_what_it_began_with(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    assert not is_run(run.path)
    run.create(Config(), INFO)
    assert is_run(run.path)
    assert RunFolder.open(run.path) == (run, Config(), INFO)
    assert run.read_log() == []
    assert run.texts() == {
        name: (run.path / name).read_text() for name in ("config.toml", "run.json")
    }
    with pytest.raises(OutputError, match="already holds a run; go on with uvast train --resume"):
        run.create(Config(), INFO)


def test_the_best_checkpoint_is_meant_else_the_last(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"name a run folder or a \.safetensors"):
        checkpoint_path(tmp_path / "absent")
    with pytest.raises(CheckpointError, match="holds no checkpoint; name a run folder"):
        checkpoint_path(tmp_path)
    run = RunFolder(tmp_path)
    run.create(Config(), INFO)
    with pytest.raises(CheckpointError, match="has no checkpoint yet; finish it with uvast train"):
        checkpoint_path(tmp_path)
    for checkpoint in (run.last, run.best):
        checkpoint.touch()
        assert checkpoint_path(tmp_path) == checkpoint
        assert checkpoint_path(checkpoint) == checkpoint


def test_a_run_is_finished_as_its_newest_state_tells(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    assert not run.is_finished()
    for progress, finished in (
        ({"progress": '{"stage": 1, "finished": true}'}, True),
        ({"progress": '{"stage": 2, "finished": false}'}, False),
        ({"progress": "[1]"}, False),
        ({"progress": "{"}, False),
        ({"card": "{}"}, False),
        (None, False),
    ):
        save_file({"weight": np.zeros(2)}, run.last, progress)
        assert run.is_finished() is finished, progress
    run.last.write_bytes(b"\xff" * 20)
    assert not run.is_finished()
    run.last.unlink()
    os.mkfifo(run.last)
    assert not run.is_finished()


def test_a_run_is_read_without_torch() -> None:
    code = "import sys, uvast.runs; uvast.runs.versions(); sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_run_begins_where_one_was_killed_at_its_first_moment(tmp_path: Path) -> None:
    for name in ("config.toml", "log.csv", "run.lock", "error.txt", ".uvast.1.tmp", ".DS_Store"):
        (tmp_path / name).touch()
    RunFolder(tmp_path).check_free()
    RunFolder(tmp_path / "new").check_free()
    with pytest.raises(OutputError, match=r"log\.csv: already exists; choose a new or empty"):
        RunFolder(tmp_path / "log.csv").check_free()


def test_a_log_of_other_columns_keeps_its_rows(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.log.write_text("stage,epoch,loss,warmth\n1,1,3.5,9\n1,2,3.25,9\n1,3,2.5,9\n1,4,2.0")
    folder.truncate_log(1, 2)
    assert folder.read_log() == [
        {"stage": 1, "epoch": 1, "loss": 3.5},
        {"stage": 1, "epoch": 2, "loss": 3.25},
    ]


def test_a_broken_log_is_named_and_a_lost_one_begins_anew(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.log.write_text("stage,epoch\n1,?\n")
    with pytest.raises(CorruptFileError, match=r"log\.csv, line 2: is not a log of .*; remove it"):
        folder.truncate_log(1, 1)
    folder.log.unlink()
    folder.truncate_log(1, 1)
    assert folder.read_log() == []


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"train": "ab"}, "train is 'ab', not a list"),
        ({"train": [["a"]]}, r"train\.0 is \['a'\], not text"),
        ({"split": 1.5}, "split is 1.5, not a whole number"),
        ({"supervision": "some"}, "supervision is 'some', not 'full' or 'timestamps'"),
        ({"dataset": None}, "dataset is None, not text"),
        ({"versions": [1]}, "versions is"),
    ],
)
def test_a_run_description_of_wrong_values_is_one_sentence(
    tmp_path: Path, changes: dict[str, object], fault: str
) -> None:
    run = RunFolder(tmp_path)
    run.create(Config(), INFO)
    path = tmp_path / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    with pytest.raises(CheckpointError, match=rf"run\.json: {fault}.*; train again"):
        RunFolder.open(tmp_path)


@pytest.mark.parametrize("text", ["[]", "null", "{}", '{"seed": ' + "9" * 5000 + "}", "[" * 10**5])
def test_what_is_no_run_description_is_one_sentence(tmp_path: Path, text: str) -> None:
    RunFolder(tmp_path).create(Config(), INFO)
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"run\.json: .*; train again"):
        RunFolder.open(tmp_path)


@pytest.mark.parametrize(
    "rows", ["1,two", "1", "1,1,2,3", "one,1", "1," + "9" * 200_000, '"1,1', "nan,1", "1.5,1"]
)
def test_a_log_of_wrong_rows_is_one_sentence(tmp_path: Path, rows: str) -> None:
    run = RunFolder(tmp_path)
    run.log.write_text(f"stage,epoch,loss\n{rows}\n")
    with pytest.raises(CorruptFileError, match=r"log\.csv, line \d: is not a log of epochs"):
        run.read_log()


def test_a_row_cut_by_a_kill_is_left_out(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.log.write_text("stage,epoch,loss\n1,1,3.5\n1,2,3.")
    assert run.read_log() == [{"stage": 1, "epoch": 1, "loss": 3.5}]
