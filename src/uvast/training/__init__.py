"""Training: losses, one loop, two stages, run folders."""

from uvast.training.loop import EpochReport, Plan, Watcher
from uvast.training.run import RunFolder, RunInfo
from uvast.training.train import resume, train

__all__ = ["EpochReport", "Plan", "RunFolder", "RunInfo", "Watcher", "resume", "train"]
