"""States that a run cannot go on from are one sentence."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from breaking_off import StopAfter, StopError
from safetensors import safe_open
from safetensors.torch import save_file

from uvast.config import Config
from uvast.data import Dataset
from uvast.errors import CheckpointError, TrainingError
from uvast.inference import load
from uvast.models.checkpoint import read_checkpoint
from uvast.models.protocols import has_alignment
from uvast.training import resume, train
from uvast.training.resuming import Progress, read_progress
from uvast.training.watching import Silent, Step


@pytest.fixture(scope="module")
def broken_off(
    tiny_path: Path, small_config: Config, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A run with refreshed targets and averaged weights, stopped after one epoch."""
    run = tmp_path_factory.mktemp("runs") / "run"
    config = small_config.replaced(
        **{
            "supervision.kind": "timestamps",
            "supervision.refresh_every": 1,
            "supervision.refresh_after": 0,
            "train.averaging": 0.9,
        }
    )
    with pytest.raises(StopError):
        train(Dataset.open(tiny_path), run, config=config, split=1, watcher=StopAfter(1))
    return run


@pytest.fixture
def run(broken_off: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(broken_off, tmp_path / "run"))


def edit(run: Path, tensors: dict[str, torch.Tensor | None], **header: str) -> None:
    """Changes the newest state: tensors by their names (None removes one) and header entries."""
    path = run / "last.safetensors"
    with safe_open(path, framework="pt") as file:
        metadata = {**file.metadata(), **header}
        found = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    changed = {name: value for name, value in {**found, **tensors}.items() if value is not None}
    save_file(changed, path, metadata=metadata)


@pytest.mark.parametrize(
    ("progress", "fault"),
    [
        ({"stage": 3}, "stage is 3, not 1 or 2"),
        ({"epoch": -1}, "epoch is -1, below 0"),
        ({"epoch": 10**30}, "epoch is 1000"),
        ({"epoch": "2"}, "epoch is '2', not a whole number"),
        ({"best_score": "nan"}, "best_score is 'nan', not a number"),
        ({"finished": 1}, "finished is 1, not true or false"),
        ([1], "not a table of values"),
    ],
)
def test_progress_of_wrong_values_is_refused(run: Path, progress: object, fault: str) -> None:
    edit(run, {}, progress=json.dumps(progress))
    with pytest.raises(CheckpointError, match=r"last\.safetensors: has a state that ") as found:
        resume(run)
    assert fault in str(found.value)


@pytest.mark.parametrize(
    ("tensors", "fault"),
    [
        ({"optimiser.0.exp_avg": torch.zeros(2)}, r"exp_avg is torch\.float32 of shape \(2,\)"),
        ({"optimiser.0.exp_avg_sq": None}, "exp_avg_sq"),
        ({"average.count": None}, "average.count"),
        ({"average.count": torch.zeros(3)}, "optimiser belongs to another run"),
        ({"target.nobody": torch.zeros(2, 1, dtype=torch.int64)}, "targets of 'nobody'"),
        ({"model.encoder.classify.weight": torch.zeros(1, 1)}, r"float32 \(1, 1\), not float32"),
        ({"model.alignment.more": torch.zeros(1)}, "does not fit the dataset"),
    ],
)
def test_tensors_of_another_run_are_refused(
    run: Path, tensors: dict[str, torch.Tensor | None], fault: str
) -> None:
    edit(run, tensors)
    with pytest.raises(CheckpointError, match=rf"last\.safetensors: .*{fault}"):
        resume(run)


@pytest.mark.parametrize(
    "target",
    [
        torch.zeros(2, 1, dtype=torch.int64),
        torch.tensor([[0], [10**6]]),
        torch.tensor([[99], [60]]),
        torch.zeros(3),
        torch.zeros(2, 2, 2, dtype=torch.int64),
    ],
)
def test_targets_that_do_not_fit_their_video_are_refused(run: Path, target: torch.Tensor) -> None:
    with safe_open(run / "last.safetensors", framework="pt") as file:
        name = next(name for name in file.keys() if name.startswith("target."))  # noqa: SIM118
    edit(run, {name: target})
    with pytest.raises(CheckpointError, match=r"last\.safetensors: has targets of .* do not fit"):
        resume(run)


def test_a_state_without_its_optimiser_never_restarts_it_silently(run: Path) -> None:
    with safe_open(run / "last.safetensors", framework="pt") as file:
        lost = {n: None for n in file.keys() if n.startswith("optimiser.")}  # noqa: SIM118
    edit(run, lost)
    with pytest.raises(
        CheckpointError, match="cannot be resumed: its optimiser belongs to another run"
    ):
        resume(run)


def test_how_far_a_run_has_come_is_read_from_the_header_alone(run: Path) -> None:
    assert read_progress(run / "last.safetensors") == Progress(1, 1)
    assert not read_checkpoint(run / "last.safetensors", prefix=None).tensors


def test_what_is_left_counts_the_stage_that_has_begun() -> None:
    epochs = {1: 5, 2: 3}
    assert Progress(1, 2).left_of(epochs) == {1: 3, 2: 3}
    assert Progress(2, 1).left_of(epochs) == {2: 2}
    assert Progress(1, 5, finished=True).left_of(epochs) == {2: 3}
    assert Progress(2, 3, finished=True).left_of(epochs) == {}


@pytest.fixture
def own_data(tiny_path: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_path, tmp_path / "own"))


def break_off(data: Path, out: Path, config: Config, *, after: int = 1) -> Path:
    with pytest.raises(StopError):
        train(Dataset.open(data), out, config=config, split=1, watcher=StopAfter(after))
    return out


def reverse_labels(data: Path, name: str) -> None:
    path = Dataset.open(data).labels_path(name)
    path.write_text("\n".join(reversed(path.read_text().splitlines())) + "\n")


@pytest.mark.parametrize("kind", ["full", "timestamps"])
def test_labels_that_have_changed_are_refused(
    kind: str, own_data: Path, small_config: Config, tmp_path: Path
) -> None:
    config = small_config.replaced(**{"supervision.kind": kind})
    run = break_off(own_data, tmp_path / "run", config)
    data = Dataset.open(own_data)
    seen, other = data.side(1, "train")[0], data.side(1, "test")[0]

    def reverse(name: str) -> None:
        """The video's labels, or clicks, with the names of its actions the other way round."""
        path = own_data / "timestamps.json"
        if kind == "full":
            reverse_labels(own_data, name)
            return
        clicks = json.loads(path.read_text())
        labels = [one["label"] for one in clicks[name]]
        for one, label in zip(clicks[name], reversed(labels), strict=True):
            one["label"] = label
        path.write_text(json.dumps(clicks))

    reverse(seen)
    what = "labels" if kind == "full" else "timestamps"
    with pytest.raises(TrainingError, match=rf"the {what} of the run's videos have changed since"):
        resume(run)
    reverse(seen)
    reverse(other)  # the run does not learn from it
    assert resume(run).is_finished()


def test_a_refused_second_stage_changes_nothing_and_is_refused_again(
    own_data: Path, small_config: Config, tmp_path: Path
) -> None:
    config = small_config.replaced(**{"train.epochs": 1, "train.alignment_epochs": 0})
    run = train(own_data, tmp_path / "run", config=config, split=1).path
    before = (run / "config.toml").read_text()
    reverse_labels(own_data, Dataset.open(own_data).side(1, "train")[0])
    with pytest.raises(TrainingError, match="the labels of the run's videos have changed"):
        resume(run, settings=["train.alignment_epochs=1"])
    assert (run / "config.toml").read_text() == before
    assert resume(run).is_finished()  # nothing is left to train
    longer = config.replaced(**{"train.alignment_epochs": 1})  # a kill may leave it like this
    (run / "config.toml").write_text(longer.as_toml())
    with pytest.raises(TrainingError, match="the labels of the run's videos have changed"):
        resume(run)


def test_another_sampling_rate_is_refused(
    own_data: Path, small_config: Config, tmp_path: Path
) -> None:
    run = break_off(own_data, tmp_path / "run", small_config)
    with (own_data / "dataset.toml").open("a") as file:
        file.write("sampling_rate = 2\n")
    with pytest.raises(TrainingError, match="its sampling rate is 2, and was 1 when"):
        resume(run)


@pytest.mark.parametrize("members", [1, 2])
def test_a_second_stage_that_was_begun_may_be_called_off(
    own_data: Path, small_config: Config, tmp_path: Path, members: int
) -> None:
    """Stopped before the first epoch of stage 2 was over."""
    config = small_config.replaced(**{"train.epochs": 1, "train.alignment_epochs": 1})

    class StopInStageTwo(Silent):
        def step(self, step: Step) -> None:
            if step.stage == 2:
                raise StopError

    with pytest.raises(StopError):
        train(
            own_data,
            tmp_path / "run",
            config=config,
            split=1,
            watcher=StopInStageTwo(),
            members=members,
        )
    run = resume(tmp_path / "run", settings=["train.alignment_epochs=0"])
    assert run.is_finished()
    assert not has_alignment(load(run.path).module)
