"""Training: losses, one loop, two stages."""

from uvast.training.estimate import expected_seconds, jobs_that_pay
from uvast.training.members import resume, train
from uvast.training.train import plan_training
from uvast.training.watching import EpochReport, Part, Plan, Step, Watcher

__all__ = [
    "EpochReport",
    "Part",
    "Plan",
    "Step",
    "Watcher",
    "expected_seconds",
    "jobs_that_pay",
    "plan_training",
    "resume",
    "train",
]
