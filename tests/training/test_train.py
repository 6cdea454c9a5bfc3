"""What a run is refused, what it holds out, and what it does with odd states."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from uvast.config import Config
from uvast.data import Dataset, generate_dataset, read_spec, write_spec
from uvast.devices import choose_device
from uvast.errors import (
    ConfigError,
    LabelError,
    MissingFileError,
    OutputError,
    TrainingError,
)
from uvast.runs import RunFolder
from uvast.training import EpochReport, Plan, resume, train
from uvast.training.objectives import StageOne
from uvast.training.watching import Silent


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"supervision.refresh_every": 2}, "only pseudo-labels can be refreshed"),
        ({"model.kind": "ms-tcn"}, "needs a model that writes transcripts"),
        (
            {
                "model.kind": "ms-tcn",
                "decode.transcript": "frames",
                "decode.durations": "alignment",
            },
            "need a model with an alignment decoder; pass --durations viterbi",
        ),
        ({"decode.durations": "explicit"}, "trained to predict them"),
        (
            {
                "loss.frame": False,
                "loss.segment": False,
                "loss.group_frame": "off",
                "loss.group_segment": "off",
                "loss.cross_attention": False,
            },
            "every loss is switched off",
        ),
        (
            {
                "model.kind": "ms-tcn",
                "decode.transcript": "frames",
                "decode.durations": "none",
                "loss.frame": False,
            },
            "loss.frame: ms-tcn labels frames, and always learns from their cross-entropy",
        ),
        (
            {
                "supervision.kind": "timestamps",
                "supervision.soft": 1.0,
                "supervision.refresh_every": 2,
            },
            "targets are either drawn for each epoch or refreshed",
        ),
        (
            {
                "supervision.kind": "timestamps",
                "loss.confidence": 1.0,
                "train.recombination": 0.5,
            },
            "recombined and warped videos have no annotated frames",
        ),
    ],
)
def test_settings_that_cannot_work_are_refused_before_the_run_folder_is_made(
    tiny: Dataset, small_config: Config, tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    class NoWork(Silent):
        def pseudo_labels(self, n_done: int, n_most: int) -> None:
            raise AssertionError

    config = small_config.replaced(**changes)
    with pytest.raises(ConfigError, match=message):
        train(tiny, tmp_path / "run", config=config, split=1, watcher=NoWork())
    assert not (tmp_path / "run").exists()


def test_validation_with_labels_shorter_than_features(
    tiny_path: Path, small_config: Config, tmp_path: Path
) -> None:
    shutil.copytree(tiny_path, tmp_path / "data")
    for path in (tmp_path / "data" / "groundTruth").iterdir():
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with (tmp_path / "data" / "dataset.toml").open("a") as file:
        file.write("\ntolerance = 0.1\n")
    config = small_config.replaced(
        **{"train.validation": 0.3, "train.epochs": 1, "train.alignment_epochs": 0}
    )
    train(tmp_path / "data", tmp_path / "run", config=config, split=1)
    assert "validation_score" in RunFolder(tmp_path / "run").read_log()[0]


def test_a_missing_feature_file_is_found_before_the_run_folder_is_made(
    tiny_path: Path, small_config: Config, tmp_path: Path
) -> None:
    shutil.copytree(tiny_path, tmp_path / "data")
    name = Dataset.open(tmp_path / "data").side(1, "train")[0]
    (tmp_path / "data" / "features" / f"{name}.npy").unlink()
    with pytest.raises(MissingFileError, match=rf"{name}\.npy: does not exist"):
        train(tmp_path / "data", tmp_path / "run", config=small_config, split=1)
    assert not (tmp_path / "run").exists()


def test_a_dataset_of_clicks_alone_says_how_to_train_on_it(
    tiny_path: Path, small_config: Config, tmp_path: Path
) -> None:
    shutil.copytree(tiny_path, tmp_path / "data")
    shutil.rmtree(tmp_path / "data" / "groundTruth")
    with pytest.raises(LabelError, match="no labels; pass --supervision timestamps"):
        train(tmp_path / "data", tmp_path / "run", config=small_config, split=1)


def test_files_of_somebody_else_are_never_overwritten(
    tiny: Dataset, small_config: Config, tmp_path: Path
) -> None:
    (tmp_path / "log.csv").write_text("temperature\n21\n")
    with pytest.raises(OutputError, match=r"log\.csv: already exists and was not written"):
        train(tiny, tmp_path, config=small_config, split=1)
    assert (tmp_path / "log.csv").read_text() == "temperature\n21\n"
    assert not (tmp_path / "config.toml").exists()


@pytest.mark.parametrize("name", ["mapping.txt", "features/v1.npy", "last.safetensors"])
def test_a_run_begins_in_no_folder_of_other_files(
    tiny: Dataset, small_config: Config, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    with pytest.raises(OutputError, match="already exists; choose a new or empty folder"):
        train(tiny, tmp_path, config=small_config, split=1)
    assert not (tmp_path / "config.toml").exists()


@pytest.mark.parametrize(
    ("n_videos", "changes", "n_held_out"),
    [
        (10, {}, 2),
        (9, {}, 0),
        (10, {"train.validation": 0.0}, 0),
        (10, {"train.validation": 0.4}, 4),
        (9, {"train.validation": 0.4}, 3),
    ],
)
def test_without_a_split_a_part_of_enough_videos_is_held_out(
    small_config: Config, tmp_path: Path, n_videos: int, changes: dict[str, object], n_held_out: int
) -> None:
    generate_dataset(tmp_path / "data", n_videos=n_videos, n_frames=50, n_features=3, n_subjects=5)
    short = {"train.epochs": 1, "train.alignment_epochs": 0, **changes}
    run = train(tmp_path / "data", tmp_path / "run", config=small_config.replaced(**short))
    _, config, info = RunFolder.open(run.path)
    assert len(info.validation) == n_held_out
    assert sorted((*info.train, *info.validation)) == sorted(Dataset.open(info.dataset).names)
    scores = {"acc", "edit", "f1@10", "f1@25", "f1@50", "score", "selection"}
    logged = {name for name in run.read_log()[0] if name.startswith("validation_")}
    assert logged == ({f"validation_{name}" for name in scores} if n_held_out else set())
    assert config.train.validation == changes.get("train.validation", 0.2 if n_held_out else 0.0)


def test_with_a_split_nothing_more_is_held_out(small_config: Config, tmp_path: Path) -> None:
    generate_dataset(tmp_path / "data", n_videos=20, n_frames=50, n_features=3, n_splits=2)
    short = {"train.epochs": 1, "train.alignment_epochs": 0}
    run = train(tmp_path / "data", tmp_path / "run", config=small_config.replaced(**short), split=1)
    _, config, info = RunFolder.open(run.path)
    assert len(info.train) >= 10
    assert (info.validation, config.train.validation) == ((), 0.0)


@pytest.mark.parametrize(("subject", "n_held_out"), [("^(s)", 0), (r"^(s\d+)", 0), (r"(\d+)$", 2)])
def test_subjects_are_held_out_whole_or_not_at_all(
    small_config: Config, tmp_path: Path, subject: str, n_held_out: int
) -> None:
    """All videos of one subject, of two, or every one of its own."""
    generate_dataset(tmp_path / "data", n_videos=12, n_frames=50, n_features=3, n_subjects=2)
    write_spec(tmp_path / "data", replace(read_spec(tmp_path / "data"), group_by=subject))
    short = {"train.epochs": 1, "train.alignment_epochs": 0}
    run = train(tmp_path / "data", tmp_path / "run", config=small_config.replaced(**short))
    assert len(RunFolder.open(run.path).info.validation) == n_held_out


def test_a_watcher_is_told_what_is_left(
    tiny: Dataset, small_config: Config, tmp_path: Path
) -> None:
    plans = []

    class Listener(Silent):
        def begin(self, plan: Plan) -> None:
            plans.append(plan)

        def epoch(self, report: EpochReport) -> None:
            if len(plans) == 1:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(tiny, tmp_path / "run", config=small_config, split=1, watcher=Listener())
    resume(tmp_path / "run", watcher=Listener())
    resume(tmp_path / "run", watcher=Listener())
    assert [plan.epochs for plan in plans] == [{1: 3, 2: 2}, {1: 2, 2: 2}, {}]
    n_videos = len(tiny.side(1, "train"))
    assert plans[0] == Plan("uvast", n_videos, str(choose_device("auto")), {1: 3, 2: 2})


@pytest.mark.parametrize("members", [1, 2])
def test_a_config_that_is_none_is_named(tiny: Dataset, tmp_path: Path, members: int) -> None:
    with pytest.raises(ConfigError, match=r"config is 'demo'; pass a Config, .*load_config"):
        train(tiny, tmp_path / "run", config="demo", members=members)  # type: ignore[arg-type]


@pytest.mark.parametrize("members", [1, 2])
def test_no_jobs_are_refused(
    tiny: Dataset, small_config: Config, tmp_path: Path, members: int
) -> None:
    with pytest.raises(ConfigError, match="jobs: 0 trainings at a time; pass a number of at least"):
        train(tiny, tmp_path / "run", config=small_config, split=1, members=members, jobs=0)
    assert not (tmp_path / "run").exists()


def test_a_finished_run_refuses_new_settings(
    tiny: Dataset, small_config: Config, tmp_path: Path
) -> None:
    train(tiny, tmp_path / "run", config=small_config, split=1)
    before = (tmp_path / "run" / "config.toml").read_text()
    with pytest.raises(ConfigError, match="has already finished stage 2"):
        resume(tmp_path / "run", settings=["train.alignment_epochs=9"])
    assert (tmp_path / "run" / "config.toml").read_text() == before


def test_gradients_that_are_not_finite_never_reach_the_weights(
    tiny: Dataset, small_config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = StageOne.losses

    def spoiled(self: StageOne, batch: object) -> object:
        found = losses(self, batch)
        weight = next(iter(self.parameters().values()))
        weight.register_hook(lambda gradient: gradient * float("inf"))
        return found

    monkeypatch.setattr(StageOne, "losses", spoiled)
    with pytest.raises(TrainingError, match="the gradient is not finite in epoch 1"):
        train(tiny, tmp_path / "run", config=small_config, split=1)


def test_a_second_stage_is_never_cut_below_what_it_has(
    tiny: Dataset, small_config: Config, tmp_path: Path
) -> None:
    class Stop(Silent):
        def epoch(self, report: EpochReport) -> None:
            if (report.stage, report.epoch) == (2, 2):
                raise KeyboardInterrupt

    config = small_config.replaced(
        **{"train.epochs": 1, "train.alignment_epochs": 4, "train.checkpoint_seconds": 0.0}
    )
    with pytest.raises(KeyboardInterrupt):
        train(tiny, tmp_path / "run", config=config, split=1, watcher=Stop())
    with pytest.raises(ConfigError, match=r"has already trained 2 epochs of stage 2"):
        resume(tmp_path / "run", settings=["train.alignment_epochs=1"])
