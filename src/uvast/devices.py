"""Where networks run, and on how many cores."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from uvast.errors import ConfigError

if TYPE_CHECKING:
    import torch


def choose_device(name: str) -> torch.device:
    """`auto` is a GPU if there is one."""
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
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
