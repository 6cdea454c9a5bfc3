"""Whole runs on a small generated dataset: stages, selection, resuming, odd data."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from breaking_off import StopAfter, StopError
from safetensors.torch import load_file

import uvast
from uvast.config import Config
from uvast.data import Batch, Dataset, VideoLoader
from uvast.errors import CheckpointError, ConfigError, OutputError, TrainingError, UvastError
from uvast.models.checkpoint import load_model
from uvast.runs import RunFolder
from uvast.training import EpochReport, resume, train
from uvast.training.watching import Silent


def weights(run: Path, name: str = "best") -> dict[str, np.ndarray]:
    return {key: value.numpy() for key, value in load_file(run / f"{name}.safetensors").items()}


def assert_equal_weights(left: Path, right: Path) -> None:
    for name in ("best", "last"):
        first, second = weights(left, name), weights(right, name)
        assert first.keys() == second.keys()
        for key, value in first.items():
            np.testing.assert_array_equal(value, second[key], err_msg=key)


def edited(path: Path, copy: Path, name: str, labels: list[str], features: np.ndarray) -> Dataset:
    """A copy of a dataset in which one video is another one."""
    shutil.copytree(path, copy)
    (copy / "groundTruth" / f"{name}.txt").write_text("".join(f"{x}\n" for x in labels))
    np.save(copy / "features" / f"{name}.npy", features.astype(np.float32))
    return Dataset.open(copy)


@pytest.fixture(scope="module")
def finished(
    tiny_path: Path, small_config: Config, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A run that came to its end. Only to be read."""
    run = tmp_path_factory.mktemp("finished") / "run"
    train(tiny_path, run, config=small_config, split=1)
    return run


@pytest.fixture
def finished_copy(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def test_a_run_trains_both_stages_and_logs_every_epoch(
    finished: Path, small_config: Config
) -> None:
    rows = RunFolder(finished).read_log()
    assert [(row["stage"], row["epoch"]) for row in rows] == [
        (1, 1),
        (1, 2),
        (1, 3),
        (2, 1),
        (2, 2),
    ]
    assert rows[2]["loss"] < rows[0]["loss"]
    terms = ("frame", "segment", "group_frame", "group_segment", "cross_attention")
    assert rows[0]["loss"] == pytest.approx(sum(rows[0][term] for term in terms), rel=1e-4)
    model, card = load_model(finished / "best.safetensors")
    assert card.stage == 2
    assert card.selection == "last epoch"
    assert card.config == small_config.replaced(**{"train.validation": 0.0}).as_dict()
    assert any(name.startswith("alignment.") for name in model.state_dict())


def test_stage_two_leaves_the_rest_as_it_was(
    tiny: Dataset, small_config: Config, finished: Path, tmp_path: Path
) -> None:
    only_one = small_config.replaced(**{"train.alignment_epochs": 0})
    train(tiny, tmp_path / "one", config=only_one, split=1)
    first, both = weights(tmp_path / "one"), weights(finished)
    for key, value in first.items():
        np.testing.assert_array_equal(value, both[key], err_msg=key)
    resume(tmp_path / "one", settings=["train.alignment_epochs=2"])
    assert weights(tmp_path / "one").keys() == both.keys()
    for key, value in both.items():
        np.testing.assert_array_equal(value, weights(tmp_path / "one")[key], err_msg=key)


def test_two_runs_with_one_seed_are_equal_and_with_two_are_not(
    tiny: Dataset, small_config: Config, finished: Path, tmp_path: Path
) -> None:
    same, other = tmp_path / "same", tmp_path / "other"
    for run, seed in ((same, 0), (other, 1)):
        train(tiny, run, config=small_config.replaced(**{"train.seed": seed}), split=1)
    assert_equal_weights(finished, same)
    assert not np.array_equal(
        *(weights(run)["model.transcript.embed.weight"] for run in (finished, other))
    )


@pytest.fixture(scope="module")
def augmented(small_config: Config) -> Config:
    return small_config.replaced(
        **{
            "train.validation": 0.3,
            "train.validate_every": 2,
            "train.averaging": 0.9,
            "train.feature_noise": 0.1,
            "train.time_masking": 0.1,
            "train.frame_dropping": 0.5,
            "train.batch_size": 2,
        }
    )


@pytest.fixture(scope="module")
def whole(tiny_path: Path, augmented: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("whole") / "run"
    train(tiny_path, run, config=augmented, split=1)
    return run


@pytest.mark.parametrize("n_epochs", range(1, 6))
def test_a_run_broken_off_after_any_epoch_resumes_to_equal_weights(
    tiny: Dataset, augmented: Config, whole: Path, tmp_path: Path, n_epochs: int
) -> None:
    broken = tmp_path / "broken"
    with pytest.raises(StopError):
        train(tiny, broken, config=augmented, split=1, watcher=StopAfter(n_epochs))
    resume(broken)
    assert_equal_weights(whole, broken)
    for left, right in zip(*(RunFolder(run).read_log() for run in (whole, broken)), strict=True):
        left.pop("seconds"), right.pop("seconds")
        assert left == right


@pytest.fixture(scope="module")
def longer(tiny_path: Path, small_config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of many epochs, beside its config: a kill of another one never comes too late."""
    folder = tmp_path_factory.mktemp("longer")
    config = small_config.replaced(**{"train.epochs": 30})
    (folder / "config.toml").write_text(config.as_toml())
    train(tiny_path, folder / "run", config=config, split=1)
    return folder


@pytest.mark.parametrize("wait_for", ["log.csv", "last.safetensors"])
def test_a_killed_run_resumes_to_equal_weights(
    tiny_path: Path, longer: Path, tmp_path: Path, wait_for: str
) -> None:
    """SIGKILL, for real, in the middle of training."""
    killed = tmp_path / "killed"
    command = [sys.executable, "-m", "uvast", "train", str(tiny_path), "--split", "1"]
    command += ["--config", str(longer / "config.toml"), "--out", str(killed)]
    process = subprocess.Popen(
        command, stderr=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    deadline = time.monotonic() + 60
    while not (begun := (killed / wait_for).exists()) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert begun
    resume(killed)
    assert_equal_weights(longer / "run", killed)


def test_a_dataset_that_changed_under_a_run_is_one_sentence(
    tiny_path: Path, small_config: Config, tmp_path: Path
) -> None:
    shutil.copytree(tiny_path, tmp_path / "data")
    changed = small_config.replaced(**{"train.checkpoint_seconds": 0.0})
    with pytest.raises(StopError):
        train(tmp_path / "data", tmp_path / "run", config=changed, split=1, watcher=StopAfter(2))
    for path in (tmp_path / "data" / "features").glob("*.npy"):
        features = np.load(path)  # [F x T]
        np.save(path, np.concatenate((features, features[:1])))
    with pytest.raises(CheckpointError, match=r"does not fit the dataset .*start a new run"):
        resume(tmp_path / "run")


def test_two_processes_never_train_one_run(
    tiny: Dataset, small_config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uvast.runs.LOCK_SECONDS", 0.0)
    refused = []

    class Second(StopAfter):
        def epoch(self, report: EpochReport) -> None:
            with pytest.raises(OutputError, match="run: is being trained by another process; wait"):
                resume(tmp_path / "run")
            refused.append(report.epoch)

    train(tiny, tmp_path / "run", config=small_config, split=1, watcher=Second(1))
    assert refused
    resume(tmp_path / "run")


def test_a_finished_run_has_nothing_to_resume(finished: Path, finished_copy: Path) -> None:
    resume(finished_copy)
    assert_equal_weights(finished, finished_copy)
    assert len(RunFolder(finished_copy).read_log()) == 5


def test_validation_selects_an_epoch_and_calibrates(
    tiny: Dataset, small_config: Config, tmp_path: Path
) -> None:
    config = small_config.replaced(
        **{"train.validation": 0.3, "train.validate_every": 1, "train.alignment_epochs": 0}
    )
    train(tiny, tmp_path / "run", config=config, split=1)
    rows = RunFolder(tmp_path / "run").read_log()
    best = max(rows, key=lambda row: row["validation_selection"])
    _, card = load_model(tmp_path / "run" / "best.safetensors")
    assert card.epoch == best["epoch"]
    assert card.selection.startswith(f"epoch {card.epoch}, chosen on")
    info = uvast.Dataset.open(tiny.path)
    assert set(info.side(1, "test")).isdisjoint(
        (tmp_path / "run" / "run.json").read_text().split('"')
    ), "the test side takes no part"


@pytest.mark.parametrize(
    ("every", "patience", "n_epochs"), [(1, 2, 3), (3, 1, 6), (3, 3, 6), (3, 4, 7)]
)
def test_patience_ends_a_run_early(
    tiny: Dataset,
    small_config: Config,
    tmp_path: Path,
    every: int,
    patience: int,
    n_epochs: int,
) -> None:
    """But not before a later validation had its chance."""
    config = small_config.replaced(
        **{
            "train.epochs": 40,
            "train.validation": 0.3,
            "train.validate_every": every,
            "train.patience": patience,
            "train.learning_rate": 1e-9,
            "train.alignment_epochs": 0,
        }
    )
    train(tiny, tmp_path / "run", config=config, split=1)
    assert len(RunFolder(tmp_path / "run").read_log()) == n_epochs


def test_two_processes_train_one_model(
    tiny_path: Path, small_config: Config, tmp_path: Path
) -> None:
    """Two processes with one video each take the step of one process with both."""
    config = small_config.replaced(
        **{
            f"model.{name}_dropout": 0.0
            for name in ("channel", "encoder", "decoder", "input", "output")
        }
    ).replaced(
        **{"train.epochs": 2, "train.alignment_epochs": 1, "train.alignment_frame_dropping": 0.0}
    )
    (tmp_path / "config.toml").write_text(config.as_toml())
    train(tiny_path, tmp_path / "one", config=config.replaced(**{"train.accumulation": 2}), split=1)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    command += ["--master-port", "0", "--standalone", "-m", "uvast", "train", str(tiny_path)]
    command += ["--split", "1", "--config", str(tmp_path / "config.toml")]
    command += ["--device", "cpu", "--out", str(tmp_path / "two")]
    finished = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert finished.returncode == 0, finished.stderr
    one, two = weights(tmp_path / "one"), weights(tmp_path / "two")
    for key, value in one.items():
        np.testing.assert_allclose(value, two[key], atol=2e-3, err_msg=key)
    for left, right in zip(
        *(RunFolder(tmp_path / run).read_log() for run in ("one", "two")), strict=True
    ):
        assert left["loss"] == pytest.approx(right["loss"], rel=1e-3)


def test_a_loss_that_is_not_finite_names_video_and_epoch_and_keeps_the_last_state(
    tiny: Dataset,
    small_config: Config,
    finished: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    culprit = tiny.side(1, "train")[1]
    batches = VideoLoader.epoch

    def poisoned(self: VideoLoader, epoch: int) -> Iterator[Batch]:
        for batch in batches(self, epoch):
            if epoch == 2 and culprit in batch.names:
                batch.features[:] = float("nan")
            yield batch

    monkeypatch.setattr(VideoLoader, "epoch", poisoned)
    with pytest.raises(TrainingError, match=f"{culprit}: the loss is not finite in epoch 3"):
        train(tiny, tmp_path / "run", config=small_config, split=1)
    assert len(RunFolder(tmp_path / "run").read_log()) == 2
    assert all(np.isfinite(value).all() for value in weights(tmp_path / "run", "last").values())
    monkeypatch.undo()
    resume(tmp_path / "run")
    assert_equal_weights(tmp_path / "run", finished)


def test_a_loss_that_is_not_finite_suggests_scaling_where_features_are_out_of_range(
    tiny_path: Path, small_config: Config, tmp_path: Path
) -> None:
    shutil.copytree(tiny_path, tmp_path / "data")
    for path in (tmp_path / "data" / "features").iterdir():
        np.save(path, np.load(path) * np.float32(1e37))
    config = small_config.replaced(**{"train.scaling": False})
    with pytest.raises(TrainingError, match=r"reach \S+e\+37 and are not scaled: .*scaling=true"):
        train(tmp_path / "data", tmp_path / "run", config=config, split=1)
    scaled = config.replaced(**{"train.scaling": True, "train.epochs": 1})
    train(tmp_path / "data", tmp_path / "scaled", config=scaled, split=1)


def test_nan_features_are_refused_by_name(
    tiny_path: Path, small_config: Config, tmp_path: Path
) -> None:
    name = Dataset.open(tiny_path).side(1, "train")[0]
    labels = (tiny_path / "groundTruth" / f"{name}.txt").read_text().split()
    features = np.load(tiny_path / "features" / f"{name}.npy")
    features[0, 0] = np.nan
    broken = edited(tiny_path, tmp_path / "data", name, labels, features)
    with pytest.raises(UvastError, match=f"{name}.npy.*NaN"):
        train(broken, tmp_path / "run", config=small_config, split=1)


def test_a_class_missing_from_the_training_side_is_fine(
    tiny_path: Path, small_config: Config, tmp_path: Path
) -> None:
    shutil.copytree(tiny_path, tmp_path / "data")
    with (tmp_path / "data" / "mapping.txt").open("a") as mapping:
        mapping.write("5 never_seen\n")
    train(tmp_path / "data", tmp_path / "run", config=small_config, split=1)
    model = uvast.load(tmp_path / "run")
    assert model.vocabulary.names[5] == "never_seen"
    predictions = uvast.segment(model, tmp_path / "data", split=1)
    assert all(one.segmentation is not None for one in predictions.values())


@pytest.mark.parametrize("way", ["viterbi", "fifa", "alignment", "semi-markov", "best"])
def test_a_one_frame_video_and_one_of_many_segments_train_and_decode(
    tiny_path: Path, small_config: Config, tmp_path: Path, way: str
) -> None:
    first, second, *_ = Dataset.open(tiny_path).side(1, "train")
    names = Dataset.open(tiny_path).vocabulary.names
    shape = np.load(tiny_path / "features" / f"{first}.npy").shape
    n_features = 6
    rows = (lambda n: (n, n_features)) if shape[1] == n_features else (lambda n: (n_features, n))
    edited(tiny_path, tmp_path / "one", first, [names[0]], np.ones(rows(1)))
    labels = [names[i // 2 % 2] for i in range(300)]
    data = edited(
        tmp_path / "one",
        tmp_path / "data",
        second,
        labels,
        np.random.default_rng(0).random(rows(300)),
    )
    assert len(data.source_segmentation(second)) == 150
    config = small_config.replaced(**{"train.epochs": 1, "train.alignment_epochs": 1})
    train(data, tmp_path / "run", config=config, split=1)
    model = uvast.load(tmp_path / "run")
    options = {"transcript": way} if way in ("semi-markov", "best") else {"durations": way}
    for name, n_frames in ((first, 1), (second, 300)):
        prediction = model.segment(data.video(name, labels=False).features, **options)
        assert prediction.segmentation is not None
        assert prediction.segmentation.n_frames == n_frames


def test_overfitting_one_video_drives_every_loss_down_and_reproduces_its_transcript(
    tiny: Dataset, tmp_path: Path
) -> None:
    name = tiny.side(1, "train")[0]
    shutil.copytree(tiny.path, tmp_path / "data")
    (tmp_path / "data" / "splits" / "train.split1.bundle").write_text(f"{name}.txt\n")
    config = Config().replaced(
        **{
            "model.n_encoder_layers": 5,
            "model.decoder_feedforward": 128,
            "model.alignment_feedforward": 128,
            **{
                f"model.{part}_dropout": 0.0
                for part in ("channel", "encoder", "decoder", "input", "output")
            },
            "train.epochs": 280,
            "train.learning_rate": 2e-3,
            "train.schedule": "cosine",
            "train.alignment_epochs": 120,
            "train.alignment_frame_dropping": 0.0,
        }
    )
    train(tmp_path / "data", tmp_path / "run", config=config, split=1)
    rows = RunFolder(tmp_path / "run").read_log()
    stage_one = [row for row in rows if row["stage"] == 1][-1]
    for term in ("frame", "segment", "group_frame", "group_segment"):
        assert stage_one[term] < 0.05, term
    assert stage_one["cross_attention"] < 0.5
    assert rows[-1]["alignment"] < 0.3
    truth = tiny.source_segmentation(name)
    model = uvast.load(tmp_path / "run")
    for durations in ("viterbi", "fifa", "alignment"):
        prediction = model.segment(tiny.video(name, labels=False).features, durations=durations)
        assert prediction.transcript.tolist() == truth.transcript.tolist()
        assert np.abs(prediction.segmentation.durations - truth.durations).max() <= 4, durations


def test_a_run_is_never_overwritten(
    tiny: Dataset, small_config: Config, finished_copy: Path
) -> None:
    with pytest.raises(OutputError, match=r"already holds a run; go on with uvast train --resume"):
        train(tiny, finished_copy, config=small_config, split=1)


def test_a_setting_that_shaped_a_run_cannot_change(finished_copy: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"train\.learning_rate=1 would change a run that has begun"
    ):
        resume(finished_copy, settings=["train.learning_rate=1"])


class Counter(Silent):
    """Keeps what it is told of pseudo-labels."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int]] = []

    def pseudo_labels(self, n_done: int, n_most: int) -> None:
        self.told.append((n_done, n_most))


@pytest.mark.parametrize("refresh_by", ["viterbi", "k-medoids"])
def test_timestamp_supervision_never_reads_the_ground_truth(
    tiny_path: Path, small_config: Config, tmp_path: Path, refresh_by: str
) -> None:
    shutil.copytree(tiny_path, tmp_path / "data")
    for name in Dataset.open(tiny_path).side(1, "train"):
        (tmp_path / "data" / "groundTruth" / f"{name}.txt").unlink()
    config = small_config.replaced(
        **{
            "supervision.kind": "timestamps",
            "supervision.refresh_every": 1,
            "supervision.refresh_after": 1,
            "supervision.refresh_by": refresh_by,
        }
    )
    with pytest.raises(StopError):
        train(tmp_path / "data", tmp_path / "run", config=config, split=1, watcher=StopAfter(2))
    resume(tmp_path / "run")
    counter = Counter()
    train(tiny_path, tmp_path / "whole", config=config, split=1, watcher=counter)
    assert counter.told[0] == (1, 14 * len(Dataset.open(tiny_path).side(1, "train")))
    assert_equal_weights(tmp_path / "run", tmp_path / "whole")
    _, card = load_model(tmp_path / "run" / "best.safetensors")
    assert card.supervision == "timestamps"
    assert card.decoding["chunk_fraction"] == 0.0
