"""A batch norm's running statistics: in averages, checkpoints, resumed runs, several processes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
import torch
from breaking_off import StopAfter, StopError
from safetensors.torch import load_file

from uvast.config import load_config
from uvast.data import Dataset
from uvast.models.checkpoint import load_model
from uvast.models.normalisation import BatchNorm
from uvast.training import resume, train
from uvast.training.optimisation import WeightAverage

SMALL = {
    "model.width": 8,
    "train.epochs": 3,
    "train.batch_size": 2,
    "train.averaging": 0.9,
    "train.checkpoint_seconds": 0.0,
    "supervision.kind": "timestamps",
    "supervision.refresh_every": 1,  # by the averaged model, with the averaged statistics
    "supervision.refresh_after": 1,
}


def test_a_run_broken_off_resumes_to_equal_statistics(tiny: Dataset, tmp_path: Path) -> None:
    config = load_config("c2f-tcn").replaced(**SMALL)
    train(tiny, tmp_path / "whole", config=config, split=1)
    with pytest.raises(StopError):
        train(tiny, tmp_path / "broken", config=config, split=1, watcher=StopAfter(2))
    at_work = load_file(tmp_path / "broken" / "last.safetensors")
    resume(tmp_path / "broken")
    names = [name for name in at_work if name.startswith("model.") and ".running_" in name]
    assert len(names) == 2 * 2 * (7 + 6)
    for name in names:
        average = at_work[name.replace("model.", "average.weight.", 1)]
        assert not average.equal(at_work[name]), "the average lags behind"
    whole, broken = (load_file(tmp_path / run / "best.safetensors") for run in ("whole", "broken"))
    assert whole.keys() == broken.keys()
    for name, value in whole.items():
        np.testing.assert_array_equal(value.numpy(), broken[name].numpy(), err_msg=name)
    loaded = dict(load_model(tmp_path / "whole" / "best.safetensors")[0].named_buffers())
    for name, value in loaded.items():
        assert value.equal(whole[f"model.{name}"])


def test_an_average_of_weights_has_the_statistics_that_were_measured_with_them() -> None:
    norm = BatchNorm(1)
    weights = {**dict(norm.named_parameters()), **dict(norm.named_buffers())}
    average = WeightAverage(weights, 0.5)
    expected = norm.running_mean.clone()
    for step in range(20):
        norm(torch.randn(1, 50, 1) + step, None)
        average.update()
        expected.lerp_(norm.running_mean, 1 - min(0.5, (step + 1) / (step + 11)))
    newest = norm.running_mean.clone()
    average.swap()
    torch.testing.assert_close(norm.running_mean, expected)
    assert norm.running_mean < newest - 0.5
    average.swap()
    torch.testing.assert_close(norm.running_mean, newest)


PROCESS = """
import torch
from uvast.training.distributed import join_processes

with join_processes(torch.device("cpu")) as processes:
    first = [1.0, 10.0][processes.rank]
    statistics = [torch.tensor([first, -first]), torch.tensor([[first]])]
    processes.average_statistics(statistics, weight=[3.0, 1.0][processes.rank])
    print(*(one.flatten().tolist() for one in statistics))
"""


IN_USE = "address already in use"


def run_two() -> list[tuple[str, str]]:
    """What each of two processes said; just the first one, if another took their port."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    shared = {**os.environ, "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    shared |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    with ExitStack() as ends:
        running = []
        for rank in range(2):
            process = subprocess.Popen(
                [sys.executable, "-c", PROCESS],
                env={**shared, "RANK": str(rank)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            ends.enter_context(process)
            ends.callback(process.kill)
            running.append(process)
        first = running[0].communicate(timeout=120)
        if IN_USE in first[1].lower():
            return [first]
        return [first, running[1].communicate(timeout=120)]


def test_several_processes_go_on_with_the_mean_of_their_statistics() -> None:
    """Weighted by their numbers of videos, 3 and 1."""
    found = run_two()
    if IN_USE in found[0][1].lower():
        found = run_two()
    for said, complaint in found:
        assert said == "[3.25, -3.25] [3.25]\n", complaint
    assert len(found) == 2
