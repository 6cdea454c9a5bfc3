"""Settings refused before training, and what a run does with odd states."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from uvast.config import Config
from uvast.data import Dataset, Timestamps, collate
from uvast.devices import choose_device
from uvast.durations import LengthModel
from uvast.errors import (
    ConfigError,
    CorruptFileError,
    LabelError,
    MissingFileError,
    OutputError,
    TrainingError,
)
from uvast.models.checkpoint import read_card, read_checkpoint
from uvast.segments import Segmentation
from uvast.training import EpochReport, Plan, RunFolder, resume, train
from uvast.training.augmentation import augment
from uvast.training.distributed import own_device
from uvast.training.loop import Silent
from uvast.training.objectives import StageOne
from uvast.training.refresh import refreshed_targets
from uvast.training.state import read_state
from uvast.training.tensorboard import TensorBoard


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"supervision.refresh_every": 2}, "full labels are not refreshed"),
        ({"model.kind": "ms-tcn"}, "needs a uvast model"),
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
    ],
)
def test_settings_that_cannot_work_are_refused_before_the_run_folder_is_made(
    tiny: Dataset, small_config: Config, tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        train(tiny, tmp_path / "run", config=small_config.replaced(**changes), split=1)
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
    with pytest.raises(OutputError, match=r"log\.csv: is there and of no run"):
        train(tiny, tmp_path, config=small_config, split=1)
    assert (tmp_path / "log.csv").read_text() == "temperature\n21\n"
    assert not (tmp_path / "config.toml").exists()


@pytest.mark.parametrize("name", ["mapping.txt", "features/v1.npy", "last.safetensors"])
def test_a_run_begins_in_no_folder_of_other_files(
    tiny: Dataset, small_config: Config, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    with pytest.raises(OutputError, match="exists already; choose a new or empty folder"):
        train(tiny, tmp_path, config=small_config, split=1)
    assert not (tmp_path / "config.toml").exists()


def test_a_run_begins_where_one_was_killed_at_its_first_moment(tmp_path: Path) -> None:
    for name in ("config.toml", "log.csv", "run.lock", "error.txt", ".uvast.1.tmp", ".DS_Store"):
        (tmp_path / name).touch()
    RunFolder(tmp_path).check_free()
    RunFolder(tmp_path / "new").check_free()
    with pytest.raises(OutputError, match=r"log\.csv: exists already; choose a new or empty"):
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
    with pytest.raises(CorruptFileError, match=r"log\.csv: is not a log of epochs .* remove it"):
        folder.truncate_log(1, 1)
    folder.log.unlink()
    folder.truncate_log(1, 1)
    assert folder.read_log() == []


class StopInStageTwo(Silent):
    """Breaks a run off in the middle of the first epoch of stage 2, or after it."""

    def __init__(self, *, after_epoch: bool) -> None:
        self.after_epoch = after_epoch

    def step(self, stage: int, epoch: int, epochs: int, fraction: float) -> None:
        if stage == 2 and not self.after_epoch:
            raise KeyboardInterrupt

    def epoch(self, report: EpochReport) -> None:
        if report.stage == 2 and self.after_epoch:
            raise KeyboardInterrupt


@pytest.mark.parametrize("after_epoch", [False, True])
def test_a_second_stage_added_later_and_broken_off_resumes(
    tiny: Dataset, small_config: Config, tmp_path: Path, after_epoch: bool
) -> None:
    config = small_config.replaced(
        **{
            "train.validation": 0.3,
            "train.validate_every": 1,
            "train.alignment_epochs": 0,
            "train.checkpoint_seconds": 1e6,
        }
    )
    for name in ("whole", "broken"):
        train(tiny, tmp_path / name, config=config, split=1)
    settings = ["train.alignment_epochs=2"]
    resume(tmp_path / "whole", settings=settings)
    watcher = StopInStageTwo(after_epoch=after_epoch)
    with pytest.raises(KeyboardInterrupt):
        resume(tmp_path / "broken", settings=settings, watcher=watcher)
    resume(tmp_path / "broken")
    whole, broken = (
        read_checkpoint(tmp_path / name / "best.safetensors").tensors
        for name in ("whole", "broken")
    )
    assert whole.keys() == broken.keys()
    assert all(torch.equal(whole[key], broken[key]) for key in whole)


def test_the_newest_state_describes_its_own_weights(
    tiny: Dataset, small_config: Config, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(tiny, run, config=small_config, split=1, watcher=StopInStageTwo(after_epoch=False))
    contents = read_checkpoint(run / "last.safetensors")
    card = read_card(run / "last.safetensors", contents.metadata)
    assert (card.stage, card.selection) == (1, "newest")


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


def test_a_config_that_is_none_is_named(tiny: Dataset, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"config is 'demo'; pass a Config, .*load_config"):
        train(tiny, tmp_path / "run", config="demo")  # type: ignore[arg-type]


def test_tensorboard_writes_nothing_before_the_run_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    fake = SimpleNamespace(SummaryWriter=made.append)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", fake)
    watcher = TensorBoard(tmp_path, Silent())
    assert made == []
    watcher.begin(Plan("uvast", 1, "cpu", {1: 1}))
    assert made == [tmp_path / "tensorboard"]


def test_a_finished_run_refuses_new_settings(
    tiny: Dataset, small_config: Config, tmp_path: Path
) -> None:
    train(tiny, tmp_path / "run", config=small_config, split=1)
    before = (tmp_path / "run" / "config.toml").read_text()
    with pytest.raises(ConfigError, match="has finished stage 2"):
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


def test_every_process_takes_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert own_device(torch.device("cuda")) == torch.device("cuda", 3)
    assert own_device(torch.device("cuda", 1)) == torch.device("cuda", 1)
    assert own_device(torch.device("cpu")) == torch.device("cpu")
    monkeypatch.delenv("LOCAL_RANK")
    assert own_device(torch.device("cuda")) == torch.device("cuda")


def test_noise_does_not_depend_on_padding(tiny: Dataset) -> None:
    videos = sorted((tiny.video(name) for name in tiny.names), key=lambda one: one.n_frames)
    short, long = videos[0], videos[-1]
    assert short.n_frames < long.n_frames
    noise = []
    for batch in (collate([short]), collate([short, long])):
        generator = torch.Generator().manual_seed(0)
        draws = torch.randn((short.n_frames, short.features.shape[1]), generator=generator)

        def same_draws(like: torch.Tensor, draws: torch.Tensor = draws) -> torch.Tensor:
            out = torch.zeros_like(like)
            out[0, : len(draws)] = draws
            return out

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch, "randn_like", same_draws)
            noisy = augment(batch, noise=0.5, masking=0.0).features[0, : short.n_frames]
        noise.append((noisy - torch.as_tensor(short.features)).numpy())
    np.testing.assert_allclose(noise[0], noise[1], rtol=1e-4, atol=1e-6)


def test_refreshing_by_k_medoids_clusters_whatever_came_first(
    tiny: Dataset, small_config: Config
) -> None:
    name = tiny.names[0]
    truth = tiny.source_segmentation(name).merged()

    class Encoder:
        """Features in which the true segments are far apart."""

        def encode(self, features: np.ndarray) -> np.ndarray:
            return np.eye(truth.n_segments, dtype=np.float32)[truth.segment_of_frame]

    config = small_config.replaced(
        **{
            "supervision.kind": "timestamps",
            "supervision.method": "midpoint",
            "supervision.prior": 0.0,
            "supervision.refresh_by": "k-medoids",
        }
    ).supervision
    found = refreshed_targets(Encoder(), tiny, [name], tiny.timestamps(), config)
    np.testing.assert_array_equal(found[name].labels, truth.labels)


def test_several_clicks_in_a_segment_are_one_segment_when_targets_are_refreshed(
    tiny: Dataset, small_config: Config
) -> None:
    name, n_classes = tiny.names[0], len(tiny.vocabulary)
    n_frames = tiny.video(name).n_frames
    lengths = np.full(n_classes, n_frames / 2)
    lengths[0] = n_frames / 4  # the first action is the short one

    class Undecided:
        """Every class everywhere: only lengths decide."""

        knowledge = SimpleNamespace(gamma=LengthModel.poisson(lengths), alpha=1.0)

        def frames(self, features: np.ndarray) -> SimpleNamespace:
            return SimpleNamespace(log_probabilities=np.zeros((len(features), n_classes)))

    def refreshed(frames: list[int], transcript: list[int]) -> Segmentation:
        clicks = {name: Timestamps(np.array(frames), np.array(transcript))}
        config = small_config.replaced(**{"supervision.kind": "timestamps"}).supervision
        return refreshed_targets(Undecided(), tiny, [name], clicks, config)[name]

    once = refreshed([4, n_frames - 1], [0, 1])
    often = refreshed([2, 3, 4, n_frames - 1], [0, 0, 0, 1])
    np.testing.assert_array_equal(often.labels, once.labels)
    assert often.n_segments == 2


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
    with pytest.raises(ConfigError, match=r"has trained 2 epochs of stage 2 already"):
        resume(tmp_path / "run", settings=["train.alignment_epochs=1"])


def test_the_newest_state_never_names_a_best_epoch_that_was_replaced(
    tiny: Dataset, small_config: Config, tmp_path: Path
) -> None:
    changes = {"train.validation": 0.3, "train.validate_every": 1, "train.checkpoint_seconds": 1e9}
    run = RunFolder(tmp_path / "run")
    seen = []

    class Compare(Silent):
        def epoch(self, report: EpochReport) -> None:
            progress, _ = read_state(run.last)
            card = read_card(run.best, read_checkpoint(run.best).metadata)
            seen.append((progress.stage, progress.best_epoch, card.epoch))

    train(tiny, run.path, config=small_config.replaced(**changes), split=1, watcher=Compare())
    assert seen
    assert all(best == card for _, best, card in seen)
