"""Training: losses, one loop, two stages, run folders."""

from uvast.training.loop import EpochReport, Watcher
from uvast.training.run import RunFolder, RunInfo
from uvast.training.train import resume, train

__all__ = ["EpochReport", "RunFolder", "RunInfo", "Watcher", "resume", "train"]
