"""Waits for a process, and ends it where it goes beyond its limits."""

from __future__ import annotations

import os
import resource
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

POLL_SECONDS = 0.005
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = resource.getpagesize()


@dataclass(frozen=True)
class Limits:
    """What a call may take.

    Args:
        cpu_seconds: processor time; a busy machine does not count.
        idle_seconds: how long it may sleep without a tick of processor time.
        megabytes: memory beyond what it begins with.
    """

    cpu_seconds: float = 5.0
    idle_seconds: float = 15.0
    megabytes: float = 700.0


@dataclass(frozen=True)
class _Sample:
    asleep: bool
    cpu_seconds: float
    megabytes: float


def watch(child: int, limits: Limits) -> dict[str, Any]:
    """Waits for a child that leads a session; `killed` says why if it had to be ended."""
    begin = _sample(child)
    peak, ticked, before = 0.0, time.monotonic(), -1.0
    reason, pause = None, POLL_SECONDS
    while True:
        ended, _, usage = os.wait4(child, os.WNOHANG)
        if ended:
            return {
                "killed": reason,
                "megabytes": peak,
                "cpu_seconds": usage.ru_utime + usage.ru_stime,
            }
        if reason is None:
            sample = _sample(child)
            peak = max(peak, sample.megabytes - begin.megabytes)
            if not sample.asleep or sample.cpu_seconds > before:
                ticked, before = time.monotonic(), sample.cpu_seconds
            reason = _beyond(limits, sample, peak, time.monotonic() - ticked)
            if reason is not None:
                _end(child)
        time.sleep(pause)
        pause = min(0.05, 1.2 * pause)


def _beyond(limits: Limits, sample: _Sample, peak: float, idle: float) -> str | None:
    if peak > limits.megabytes:
        return f"took more than {limits.megabytes:.0f} MB"
    if sample.cpu_seconds > limits.cpu_seconds:
        return f"was not done after {limits.cpu_seconds:.0f} s of work"
    if idle > limits.idle_seconds:
        return f"slept for {limits.idle_seconds:.0f} s"
    return None


def _end(child: int) -> None:
    os.kill(child, signal.SIGUSR1)  # it tells where it is
    time.sleep(0.1)
    os.killpg(child, signal.SIGKILL)  # with whatever it has started


def _sample(child: int) -> _Sample:
    try:
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return _Sample(False, 0.0, 0.0)
    cpu = (int(fields[11]) + int(fields[12])) / TICKS
    return _Sample(fields[0] in "SD", cpu, int(fields[21]) * PAGE / 2**20)
