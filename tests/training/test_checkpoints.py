"""What the newest state and the best model say, whenever a run is broken off."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from uvast.config import Config
from uvast.data import Dataset
from uvast.models.checkpoint import read_checkpoint
from uvast.runs import RunFolder
from uvast.training import EpochReport, resume, train
from uvast.training.resuming import read_state
from uvast.training.watching import Silent, Step


class StopInStageTwo(Silent):
    """Breaks a run off in the middle of the first epoch of stage 2, or after it."""

    def __init__(self, *, after_epoch: bool) -> None:
        self.after_epoch = after_epoch

    def step(self, step: Step) -> None:
        if step.stage == 2 and not self.after_epoch:
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
    card = read_checkpoint(run / "last.safetensors").card
    assert (card.stage, card.selection) == (1, "newest")


def test_the_newest_state_never_names_a_best_epoch_that_was_replaced(
    tiny: Dataset, small_config: Config, tmp_path: Path
) -> None:
    changes = {"train.validation": 0.3, "train.validate_every": 1, "train.checkpoint_seconds": 1e9}
    run = RunFolder(tmp_path / "run")
    seen = []

    class Compare(Silent):
        def epoch(self, report: EpochReport) -> None:
            progress, _ = read_state(run.last)
            card = read_checkpoint(run.best).card
            seen.append((progress.stage, progress.best_epoch, card.epoch))

    train(tiny, run.path, config=small_config.replaced(**changes), split=1, watcher=Compare())
    assert seen
    assert all(best == card for _, best, card in seen)
