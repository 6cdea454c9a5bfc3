"""Where networks run, and on how many cores."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.errors import ConfigError

if TYPE_CHECKING:
    import torch

QUOTA = Path("/sys/fs/cgroup/cpu.max")


def choose_device(name: str) -> torch.device:
    """The device with that name; `auto` is a GPU if there is one."""
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"device {name!r} cannot be used", remedy="pass --device cpu") from error
    return device


def n_cores() -> int:
    """The cores that this process may use; a container may have only a share of them."""
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    quota = _quota()
    return cores if quota is None else max(1, min(cores, quota))


def is_one_of_several() -> bool:
    """Whether torchrun started this process as one of several that train one model."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def _quota() -> int | None:
    """Whole cores of processor time that the control group may use; None without a limit."""
    try:
        limit, period = QUOTA.read_text().split()
        return int(limit) // int(period)
    except (OSError, ValueError):
        return None  # no such file, or `max`
