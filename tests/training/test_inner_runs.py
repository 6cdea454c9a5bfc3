"""Out of fold: inner runs choose the weights of decoding, resumable and without a test label."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from checkpoint_contents import contents

import uvast
from uvast.config import Config
from uvast.data import Dataset
from uvast.data.subjects import group_by_subject
from uvast.errors import CheckpointError, ConfigError, SplitError
from uvast.inference.calibration import Calibration, calibrate
from uvast.inference.held_out import HeldOut
from uvast.runs import RunFolder
from uvast.training import EpochReport, Plan, plan_training, resume, train
from uvast.training.estimate import expected_seconds, jobs_that_pay
from uvast.training.folds import make_folds
from uvast.training.inner_runs import read_calibration
from uvast.training.watching import Silent


class Recorder(Silent):
    """Notes what it is told; raises in an epoch of an inner run, if asked to."""

    def __init__(self, stop_in: tuple[int, int] | None = None) -> None:
        self.plans: list[Plan] = []
        self.seen: list[tuple[int, int]] = []
        self._stop_in = stop_in

    def begin(self, plan: Plan) -> None:
        self.plans.append(plan)

    def epoch(self, report: EpochReport) -> None:
        self.seen.append((report.part.fold, report.epoch))
        if self.seen[-1] == self._stop_in:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def config(small_config: Config) -> Config:
    return small_config.replaced(
        **{
            "train.folds": 2,
            "train.epochs": 4,
            "train.fold_epochs": 0.5,
            "train.alignment_epochs": 1,
            "train.learning_rate": 3e-3,
            "decode.transcript": "best",
        }
    )


@pytest.fixture(scope="module")
def whole(
    tiny_path: Path, config: Config, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Recorder]:
    run, watcher = tmp_path_factory.mktemp("runs") / "run", Recorder()
    train(tiny_path, run, config=config, split=1, watcher=watcher)
    return run, watcher


def test_inner_runs_are_runs_of_parts_of_the_training_side(
    whole: tuple[Path, Recorder], tiny: Dataset, config: Config
) -> None:
    run, _ = whole
    inner = [RunFolder.open(run / "folds" / str(number)) for number in (1, 2)]
    side = set(tiny.side(1, "train"))
    held_out = [side - set(info.train) for _, _, info in inner]
    assert set.union(*held_out) == side
    assert not set.intersection(*held_out)
    for (_, settings, info), out in zip(inner, held_out, strict=True):
        assert info.validation == ()
        assert (settings.train.epochs, settings.train.folds) == (2, 0)
        assert settings.decode == config.decode
        subjects = group_by_subject(sorted(side), tiny.spec.group_by)
        assert all(set(one) <= out or not set(one) & out for one in subjects)
    info = RunFolder.open(run).info
    assert set(info.train) == side


def test_the_model_has_the_weights_that_they_chose(whole: tuple[Path, Recorder]) -> None:
    run, _ = whole
    found, model = read_calibration(run), uvast.load(run)
    assert (model.priors.weights, model.priors.temperature) == (found.weights, found.temperature)
    assert found.temperature.usual != 1
    assert found.n_videos == 4
    assert set(found.scores) == {"semi-markov", "decoder", "default", "best"}


def test_the_model_is_shown_surer_than_they_were(
    tiny_path: Path, config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They learned from half of the videos that the model learns from."""
    shares = []

    def noted(videos: list[HeldOut], *, share: float) -> Calibration:
        shares.append(share)
        return calibrate(videos, share=share)

    monkeypatch.setattr("uvast.training.inner_runs.calibrate", noted)
    train(tiny_path, tmp_path / "run", config=config, split=1)
    assert shares == [0.5]


def test_nothing_large_is_left_of_them(whole: tuple[Path, Recorder]) -> None:
    run, _ = whole
    assert not list((run / "folds").rglob("*.safetensors"))
    assert sum(one.stat().st_size for one in (run / "folds").rglob("*") if one.is_file()) < 30_000


def test_a_watcher_is_told_of_them_first(whole: tuple[Path, Recorder]) -> None:
    _, watcher = whole
    (plan,) = watcher.plans
    assert (plan.folds, plan.epochs) == ({1: 2, 2: 2}, {1: 4, 2: 1})
    inner, own = watcher.seen[:4], watcher.seen[4:]
    assert inner == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert own == [(0, 1), (0, 2), (0, 3), (0, 4), (0, 1)]


@pytest.mark.parametrize("stop_in", [(1, 2), (2, 1), (0, 1)], ids=["first", "second", "own"])
def test_a_run_that_is_killed_anywhere_ends_the_same(
    whole: tuple[Path, Recorder],
    tiny_path: Path,
    config: Config,
    tmp_path: Path,
    stop_in: tuple[int, int],
) -> None:
    run = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(tiny_path, run, config=config, split=1, watcher=Recorder(stop_in))
    watcher = Recorder()
    resume(run, watcher=watcher)
    assert watcher.seen[0] == ((2, 1) if stop_in == (1, 2) else (stop_in[0], stop_in[1] + 1))
    weights = "folds/weights.json"
    assert (run / weights).read_bytes() == (whole[0] / weights).read_bytes()
    for name in ("best.safetensors", "last.safetensors"):
        assert contents(run / name) == contents(whole[0] / name), name


def test_resuming_counts_what_is_left(tiny_path: Path, config: Config, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        train(tiny_path, tmp_path / "run", config=config, split=1, watcher=Recorder((2, 1)))
    watcher = Recorder((2, 2))
    with pytest.raises(KeyboardInterrupt):
        resume(tmp_path / "run", watcher=watcher)
    assert watcher.plans[0].folds == {2: 1}


def test_broken_weights_are_one_sentence(tiny_path: Path, config: Config, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        train(tiny_path, tmp_path / "run", config=config, split=1, watcher=Recorder((1, 1)))
    path = tmp_path / "run" / "folds" / "weights.json"
    path.write_text(json.dumps({"weights": {"alpha": -1}}))
    with pytest.raises(CheckpointError, match=r"weights\.json: .*remove the file"):
        resume(tmp_path / "run")


def test_a_choice_on_videos_of_the_test_side_is_not_taken_over(
    tiny_path: Path, config: Config, tmp_path: Path
) -> None:
    other, run = tmp_path / "other", tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(tiny_path, other, config=config, split=1, watcher=Recorder((1, 1)))
    with pytest.raises(SplitError, match=r"chose how to decode on video \w+, which this run does"):
        train(tiny_path, run, config=config, split=2, calibrated_by=other)
    assert not run.exists()
    with pytest.raises(KeyboardInterrupt):
        train(tiny_path, run, config=config, split=2, watcher=Recorder((1, 1)))
    with pytest.raises(SplitError, match="chose how to decode"):
        resume(run, calibrated_by=other)


def test_a_validation_part_does_without_them(
    tiny_path: Path, config: Config, tmp_path: Path
) -> None:
    settings = {"train.validation": 0.3, "train.epochs": 1, "train.alignment_epochs": 0}
    watcher = Recorder()
    train(tiny_path, tmp_path / "run", config=config.replaced(**settings), watcher=watcher)
    assert not (tmp_path / "run" / "folds").exists()
    assert watcher.plans[0].n_validation
    assert uvast.load(tmp_path / "run").priors.temperature.usual != 1


def test_with_folds_every_video_is_trained_on(
    tiny_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uvast.training.estimate._step", lambda *_: 1.0)
    asked = ["train.folds=4", "model.width=16", "model.attention_width=8"]
    planned = plan_training(tiny_path, settings=asked)
    assert (planned.facts.n_videos, planned.facts.n_validation) == (8, 0)
    assert planned.facts.n_folds == 4
    (sentence,) = [one for one in planned.sentences if "inner runs" in one]
    assert sentence.startswith("4 inner runs choose how to decode")
    assert "4 times as long as one run; --set train.folds=0 leaves them out" in sentence
    cpu = torch.device("cpu")
    without = plan_training(tiny_path, settings=[*asked[1:], "train.folds=0"])
    assert without.facts.n_folds == 0
    alone = 300 * 8
    calibrated = 20 * 8
    assert expected_seconds(without.config, without.facts, cpu) == alone
    one_by_one = expected_seconds(planned.config, planned.facts, cpu)
    assert one_by_one == alone + 4 * 300 * 6 + calibrated == 9760
    at_once = expected_seconds(planned.config, planned.facts, cpu, jobs=4)
    assert at_once == alone + 300 * 6 + calibrated == 4360


def test_as_many_at_a_time_as_pay(tiny_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uvast.training.estimate.n_cores", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    planned = plan_training(tiny_path, settings=["train.folds=4", "train.sampling_rate=2"])
    config, cpu = planned.config, torch.device("cpu")
    large = replace(planned.facts, n_frames=100_000, longest=10_000)
    assert jobs_that_pay(config, large, cpu) == 4
    assert jobs_that_pay(config, replace(large, n_folds=3), cpu) == 3
    assert jobs_that_pay(config, replace(large, n_folds=0), cpu, n_members=3) == 2
    assert jobs_that_pay(config, large, cpu, n_members=20) == 4, "memory"
    assert jobs_that_pay(config, replace(large, n_folds=0), cpu) == 1
    assert jobs_that_pay(config, large, torch.device("cuda")) == 1
    assert jobs_that_pay(config, planned.facts, cpu) == 1, "too short"
    assert jobs_that_pay(config, replace(large, longest=10_002), cpu) == 1, "too large"
    for threads, n_jobs in (("1", 4), ("3", 2), ("8", 1), ("all", 4)):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        assert jobs_that_pay(config, large, cpu) == n_jobs
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert jobs_that_pay(config, large, cpu) == 1, "torchrun"


def test_too_few_videos_keep_the_usual_weights(
    tiny: Dataset, config: Config, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    for folder in ("features", "groundTruth"):
        (data / folder).mkdir(parents=True)
        for name in tiny.names[:2]:
            (file,) = (tiny.path / folder).glob(f"{name}.*")
            (data / folder / file.name).symlink_to(file)
    for name in ("mapping.txt", "dataset.toml"):
        (data / name).write_bytes((tiny.path / name).read_bytes())
    watcher, settings = Recorder(), {"train.epochs": 1, "train.alignment_epochs": 0}
    train(data, tmp_path / "run", config=config.replaced(**settings), watcher=watcher)
    (plan,) = watcher.plans
    assert "fewer than 4 videos cannot choose how to decode: the usual weights are kept" in (
        plan.notes
    )
    assert plan.folds == {}
    assert uvast.load(tmp_path / "run").priors.weights.decoder == 0.5


def test_without_epochs_nothing_is_said_of_too_few_videos(
    tiny: Dataset, config: Config, tmp_path: Path
) -> None:
    watcher, settings = Recorder(), {"train.epochs": 0, "train.alignment_epochs": 0}
    train(tiny, tmp_path / "run", config=config.replaced(**settings), split=1, watcher=watcher)
    assert [plan.notes for plan in watcher.plans] == [()]


@pytest.mark.parametrize("supervision", ["full", "timestamps"])
def test_no_label_of_the_test_side_is_opened(
    tiny: Dataset, config: Config, tmp_path: Path, opened: list[str], supervision: str
) -> None:
    """Neither by training nor by calibration, with inner runs and with a validation part."""
    settings = {
        "supervision.kind": supervision,
        "train.epochs": 2,
        "train.alignment_epochs": 1,
        "supervision.refresh_every": int(supervision == "timestamps"),
        "supervision.refresh_after": 0,
    }
    chosen = config.replaced(**settings)
    train(tiny.path, tmp_path / "folds", config=chosen, split=1)
    train(
        tiny.path, tmp_path / "part", config=chosen.replaced(**{"train.validation": 0.3}), split=1
    )
    plan_training(tiny.path, split=1, settings=[f"supervision.kind={supervision}"])
    for side, is_read in (("train", supervision == "full"), ("test", False)):
        for name in tiny.side(1, side):
            assert (str(tiny.labels_path(name)) in opened) == is_read, name


@pytest.fixture
def opened() -> list[str]:
    """Every file that is opened while a test runs, by whatever code."""
    paths: list[str] = []
    _LISTENERS.append(paths)
    yield paths
    _LISTENERS.remove(paths)


_LISTENERS: list[list[str]] = []


def _listen(event: str, arguments: tuple[object, ...]) -> None:
    if _LISTENERS and event == "open":
        for paths in _LISTENERS:
            paths.append(str(arguments[0]))


sys.addaudithook(_listen)


def test_clicks_without_names_take_them_from_the_training_side_alone(
    tiny: Dataset, config: Config, tmp_path: Path, opened: list[str]
) -> None:
    """As in the published files: the class of a click is the label of its frame."""
    clicks = json.loads((tiny.path / "timestamps.json").read_text())
    bare = {name: [{"frame": one["frame"]} for one in entries] for name, entries in clicks.items()}
    path = tmp_path / "clicks.json"
    path.write_text(json.dumps(bare))
    settings = {"supervision.kind": "timestamps", "train.epochs": 1, "train.alignment_epochs": 0}
    chosen = config.replaced(**settings)
    train(tiny.path, tmp_path / "run", config=chosen, split=1, timestamps=path)
    read = {name for name in tiny.names if str(tiny.labels_path(name)) in opened}
    assert read == set(tiny.side(1, "train"))


def test_folds_hold_every_video_out_once() -> None:
    names = [f"s{subject}_{take}" for subject in range(5) for take in range(3)]
    subjects = tuple(tuple(names[at : at + 3]) for at in range(0, 15, 3))
    folds = make_folds(names, 3, subjects)
    assert [one.number for one in folds] == [1, 2, 3]
    assert sorted(name for one in folds for name in one.held_out) == names
    for one in folds:
        assert not {name[:2] for name in one.train} & {name[:2] for name in one.held_out}
    assert len(make_folds(names, 9, subjects)) == 5, "as many as subjects"
    assert len(make_folds(names, 4, (tuple(names),))) == 4, "one subject: by video"
    assert len(make_folds(names, 4)) == 4, "no subject: by video"
    assert len(make_folds(names[:4], 9)) == 4
    assert make_folds(names[:3], 9) == ()
    assert make_folds(names[:2], 3) == make_folds(names, 0) == ()


def test_one_fold_is_a_slip(config: Config) -> None:
    with pytest.raises(ConfigError, match="folds is 1, neither 0 nor at least 2"):
        config.replaced(**{"train.folds": 1})


def test_padding_does_not_change_what_a_model_makes_of_a_video(
    whole: tuple[Path, Recorder], tiny: Dataset
) -> None:
    """Weights are chosen on videos one by one, and used on batches."""
    model = uvast.load(whole[0])
    videos = [tiny.video(name, labels=False) for name in tiny.side(1, "test")]
    options = model.options(transcript="best")
    together = model.decode_batch(model.encode_batch(videos), options)
    for video, found in zip(videos, together, strict=True):
        (alone,) = model.decode_batch(model.encode_batch([video]), options)
        assert alone.segmentation == found.segmentation
        assert alone.confidence == pytest.approx(found.confidence, abs=1e-5)
