"""Training: losses, one loop, two stages."""

from uvast.training.loop import EpochReport, Plan, Watcher
from uvast.training.train import resume, train

__all__ = ["EpochReport", "Plan", "Watcher", "resume", "train"]
