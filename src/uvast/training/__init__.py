"""Training: losses, one loop, two stages."""

from uvast.training.train import resume, train
from uvast.training.watching import EpochReport, Plan, Watcher

__all__ = ["EpochReport", "Plan", "Watcher", "resume", "train"]
