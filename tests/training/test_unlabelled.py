"""Runs that also learn from videos without labels: which, how they are drawn, what is not read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from uvast.benchmark.cell import Cell, CellFold
from uvast.benchmark.run_cell import run_cell
from uvast.config import Config, load_config
from uvast.data import Batch, Dataset, Scaling
from uvast.errors import ConfigError, DataError, SplitError
from uvast.files.names import RUN_FILE
from uvast.inference.ensemble import make_ensemble
from uvast.runs import RunFolder
from uvast.training import EpochReport, Plan, resume, train
from uvast.training.batches import draw_epoch
from uvast.training.distributed import Processes
from uvast.training.unlabelled import find_unlabelled
from uvast.training.watching import Silent

SMALL = {
    "model.width": 8,
    "model.n_encoder_layers": 2,
    "model.n_stages": 3,
    "train.epochs": 2,
    "train.checkpoint_seconds": 0.0,
}


def sstda(**changes: object) -> Config:
    return load_config("sstda").replaced(**{**SMALL, **changes})


class Recorder(Silent):
    """Keeps the plan; breaks a run off after its first epoch, if asked to."""

    def __init__(self, *, stop: bool = False) -> None:
        self.plan: Plan | None = None
        self.reports: list[EpochReport] = []
        self._stop = stop

    def begin(self, plan: Plan) -> None:
        self.plan = plan

    def epoch(self, report: EpochReport) -> None:
        self.reports.append(report)
        if self._stop:
            raise KeyboardInterrupt


@pytest.fixture
def copied(tiny_path: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_path, tmp_path / "data"))


def weights(run: Path) -> dict[str, np.ndarray]:
    return {name: one.numpy() for name, one in load_file(run / "best.safetensors").items()}


def assert_equal(one: Path, other: Path) -> None:
    ours, theirs = weights(one), weights(other)
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        np.testing.assert_array_equal(value, theirs[name], err_msg=name)


def spoil_labels(path: Path, names: tuple[str, ...]) -> None:
    """Label files that nobody can read."""
    for name in names:
        (path / "groundTruth" / f"{name}.txt").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(DataError):
            Dataset.open(path).source_labels(name)


def test_no_test_label_is_ever_read(tiny: Dataset, copied: Path, tmp_path: Path) -> None:
    test = tiny.side(1, "test")
    spoil_labels(copied, test)
    whole = train(tiny, tmp_path / "whole", config=sstda(), split=1).path
    recorder = Recorder(stop=True)
    with pytest.raises(KeyboardInterrupt):
        train(copied, tmp_path / "run", config=sstda(), split=1, watcher=recorder)
    resume(tmp_path / "run")
    assert_equal(whole, tmp_path / "run")
    info = RunFolder.open(whole).info
    assert info.unlabelled == test
    assert info.transductive
    assert json.loads((whole / RUN_FILE).read_text())["transductive"] is True
    assert recorder.plan is not None
    assert (recorder.plan.n_unlabelled, recorder.plan.transductive) == (len(test), True)
    rows = RunFolder(whole).read_log()
    assert all(row[name] > 0 for row in rows for name in ("frame_domain", "video_domain"))
    total = sum(
        rows[0][name]
        for name in ("frame", "smoothing", "frame_domain", "video_domain", "attentive_entropy")
    )
    assert rows[0]["loss"] == pytest.approx(total, rel=1e-4)


def test_weights_depend_on_the_features_of_the_test_side(
    tiny: Dataset, copied: Path, tmp_path: Path
) -> None:
    path = Dataset.open(copied).features_path(tiny.side(1, "test")[0])
    np.save(path, np.load(path) + 5)
    one, other = (
        weights(train(data, tmp_path / run, config=sstda(), split=1).path)
        for data, run in ((tiny, "a"), (copied, "b"))
    )
    name = "model.network.prediction.classify.weight"
    assert not np.array_equal(one[name], other[name])


def test_without_unlabelled_videos_it_learns_as_ms_tcn(tiny: Dataset, tmp_path: Path) -> None:
    run = train(tiny, tmp_path / "run", config=sstda(**{"train.unlabelled": "none"}), split=1)
    info = RunFolder.open(run.path).info
    assert (info.unlabelled, info.transductive) == ((), False)
    assert "frame_domain" not in run.read_log()[0]
    resume(run.path)


# which videos


def test_the_rest_is_on_neither_side(copied: Path, tmp_path: Path) -> None:
    data = Dataset.open(copied)
    train_side, test = data.side(1, "train"), data.side(1, "test")
    extra = copied / "features" / "extra.npy"
    shutil.copy(data.features_path(test[0]), extra)
    (copied / "groundTruth" / f"{train_side[0]}.txt").unlink()
    data = Dataset.open(copied)
    config = sstda(**{"train.unlabelled": "rest", "supervision.kind": "full"})
    recorder = Recorder()
    run = train(data, tmp_path / "run", config=config, split=1, watcher=recorder)
    info = RunFolder.open(run.path).info
    assert set(info.unlabelled) == {"extra", train_side[0]}
    assert not info.transductive
    assert recorder.plan is not None
    assert recorder.plan.notes == (), "a video that is learned from does not stay out"
    found = find_unlabelled(data, config.train, 1, info.train[:2], held_out=info.train[2:])
    assert set(found) == {"extra", train_side[0]}, "what a fold holds out is not the rest"
    assert set(find_unlabelled(data, config.train, None, info.train)) == {
        *("extra", train_side[0]),
        *test,
    }


def test_no_rest_is_a_note(tiny: Dataset, tmp_path: Path) -> None:
    recorder = Recorder()
    config = sstda(**{"train.unlabelled": "rest"})
    train(tiny, tmp_path / "run", config=config, split=1, watcher=recorder)
    assert recorder.plan is not None
    assert recorder.plan.notes == (
        "there are no unlabelled videos: sstda learns from its labelled ones alone",
    )


def test_a_test_side_needs_a_split(tiny: Dataset, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as found:
        train(tiny, tmp_path / "run", config=sstda())
    assert str(found.value) == (
        'train.unlabelled: is "test", and without a split there is no test side; pass --split, or '
        "set train.unlabelled=rest to learn from all videos without labels"
    )
    assert not (tmp_path / "run").exists()


def test_a_model_that_does_not_learn_from_them_is_refused_them(
    tiny: Dataset, tmp_path: Path
) -> None:
    config = sstda(**{"model.kind": "ms-tcn"})
    with pytest.raises(ConfigError, match="ms-tcn does not learn from unlabelled videos"):
        train(tiny, tmp_path / "run", config=config, split=1)
    assert not (tmp_path / "run").exists()


def test_missing_features_are_told_before_the_first_epoch(copied: Path, tmp_path: Path) -> None:
    data = Dataset.open(copied)
    data.features_path(data.side(1, "test")[0]).unlink()
    with pytest.raises(DataError, match="extract the features of this video"):
        train(Dataset.open(copied), tmp_path / "run", config=sstda(), split=1)
    assert not (tmp_path / "run").exists()


def test_held_out_videos_are_not_learned_from(tiny: Dataset, tmp_path: Path) -> None:
    with pytest.raises(SplitError, match="is both learned from and held out"):
        train(tiny, tmp_path / "run", config=sstda(), split=1, held_out=tiny.side(1, "train")[:1])


# without the test side


def without_test_side(path: Path) -> Dataset:
    """Neither features nor labels of split 1's test side are there to be opened."""
    data = Dataset.open(path)
    for name in data.side(1, "test"):
        data.features_path(name).write_bytes(b"broken")
        data.labels_path(name).write_bytes(b"\xff\xfe\x00")
    return Dataset.open(path)


def test_a_comparison_s_fold_sees_what_it_holds_out(copied: Path, tmp_path: Path) -> None:
    data = without_test_side(copied)
    side = data.side(1, "train")
    fold = CellFold(1, 2, side[2:], side[:2])
    decodings = {"frames": {"transcript": "frames", "durations": "none"}}
    cell = Cell("sstda", str(copied), 1, 0, sstda(), decodings, fold=fold)
    assert set(run_cell(cell, tmp_path / "out")) == {"frames"}
    info = RunFolder.open(tmp_path / "out" / cell.key).info
    assert (info.train, info.unlabelled, info.transductive) == (side[2:], side[:2], True)
    assert cell.note == "transductive"


@pytest.mark.parametrize("unlabelled", ["test", "rest"])
def test_inner_runs_never_see_the_test_side(copied: Path, tmp_path: Path, unlabelled: str) -> None:
    data = Dataset.open(copied)
    shutil.copy(data.features_path(data.names[0]), copied / "features" / "extra.npy")
    data = Dataset.open(copied)
    config = sstda(**{"train.unlabelled": unlabelled, "train.folds": 2})
    run = train(data, tmp_path / "run", config=config, split=1).path
    whole = RunFolder.open(run).info
    for number in (1, 2):
        info = RunFolder.open(run / "folds" / str(number)).info
        held_out = tuple(name for name in whole.train if name not in info.train)
        assert held_out
        assert info.unlabelled == (held_out if unlabelled == "test" else ("extra",))


# what a step sees


def drawn(
    dataset: Dataset,
    epoch: int,
    unlabelled: tuple[str, ...],
    *,
    rank: int = 0,
    count: int = 1,
    scaling: Scaling | None = None,
    **changes: object,
) -> list[Batch]:
    names = dataset.side(1, "train")
    targets = {name: dataset.source_segmentation(name) for name in names}
    config = sstda(**{"train.batch_size": 2, "train.epochs": 4, **changes})
    found = draw_epoch(
        dataset,
        targets,
        config,
        stage=1,
        epoch=epoch,
        device=torch.device("cpu"),
        processes=Processes(rank, count),
        scaling=scaling,
        unlabelled=unlabelled,
    )
    return list(found.batches)


def videos_in(dataset: Dataset, batches: list[Batch], names: tuple[str, ...]) -> list[str]:
    """The unlabelled videos of the batches, known by their features."""
    known = {dataset.video(name, labels=False).features.tobytes(): name for name in names}
    found = []
    for batch in batches:
        assert batch.unlabelled is not None
        for features, mask in zip(batch.unlabelled.features, batch.unlabelled.mask, strict=True):
            found.append(known[features[mask].numpy().tobytes()])
    return found


def test_each_batch_has_unlabelled_videos_which_come_again(tiny: Dataset) -> None:
    names = tiny.side(1, "test")[:3]
    batches = drawn(tiny, 1, names)
    seen = videos_in(tiny, batches, names)
    assert len(seen) == len(tiny.side(1, "train")) == 4
    assert set(seen[:3]) == set(names), "each once before one comes again"
    shares = [batch.unlabelled.progress for batch in batches if batch.unlabelled is not None]
    assert shares == [(1 + index / len(batches)) / 4 for index in range(len(batches))]
    assert videos_in(tiny, drawn(tiny, 1, names), names) == seen
    epochs = {tuple(videos_in(tiny, drawn(tiny, epoch, names), names)) for epoch in range(4)}
    assert len(epochs) > 1
    seeds = {
        tuple(videos_in(tiny, drawn(tiny, 1, names, **{"train.seed": seed}), names))
        for seed in range(4)
    }
    assert len(seeds) > 1


def test_processes_share_the_batches_of_one(tiny: Dataset) -> None:
    names = tiny.side(1, "test")
    whole = drawn(tiny, 2, names)
    parts = [drawn(tiny, 2, names, rank=rank, count=2) for rank in range(2)]
    for index, batch in enumerate(whole):
        other = parts[index % 2][index // 2]
        assert other.names == batch.names
        assert other.unlabelled is not None
        assert batch.unlabelled is not None
        torch.testing.assert_close(other.unlabelled.features, batch.unlabelled.features)
        assert other.unlabelled.progress == batch.unlabelled.progress


def test_unlabelled_videos_are_scaled_and_move_like_the_others(tiny: Dataset) -> None:
    name = tiny.side(1, "test")[0]
    scaling = Scaling(np.full(tiny.n_features, 2.0), np.full(tiny.n_features, 4.0))
    batch = drawn(tiny, 0, (name,), scaling=scaling)[0].to("meta")
    assert batch.unlabelled is not None
    assert batch.unlabelled.features.device.type == batch.unlabelled.mask.device.type == "meta"
    found = drawn(tiny, 0, (name,), scaling=scaling)[0].unlabelled
    assert found is not None
    expected = (tiny.video(name, labels=False).features - 2) / 4
    np.testing.assert_allclose(found.features[0].numpy(), expected, rtol=1e-5, atol=1e-6)


# run folders


def test_an_old_run_without_the_fields_opens(tiny: Dataset, tmp_path: Path) -> None:
    run = train(tiny, tmp_path / "run", config=sstda(), split=1).path
    content = json.loads((run / RUN_FILE).read_text())
    del content["unlabelled"], content["transductive"]
    (run / RUN_FILE).write_text(json.dumps(content))
    info = RunFolder.open(run).info
    assert (info.unlabelled, info.transductive) == ((), False)


def test_an_ensemble_is_transductive_if_a_member_is(tiny: Dataset, tmp_path: Path) -> None:
    runs = [
        train(tiny, tmp_path / kind, config=sstda(**{"train.unlabelled": kind}), split=1).path
        for kind in ("none", "test")
    ]
    info = RunFolder.open(make_ensemble(runs, tmp_path / "both").path).info
    assert (info.unlabelled, info.transductive) == (tiny.side(1, "test"), True)
