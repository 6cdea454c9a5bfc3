"""What this machine can do: speed of a matrix product, time of a call, peak memory."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch.utils.flop_counter import FlopCounterMode

if TYPE_CHECKING:
    from collections.abc import Callable

GEMM_SIZE = 2048


@dataclass(frozen=True)
class Times:
    """Milliseconds of repeated calls; if median and fastest are far apart, the machine is busy."""

    median: float
    fastest: float


def measure(call: Callable[[], object], n_calls: int, n_warm: int = 2) -> Times:
    """Times of `n_calls` calls, after `n_warm` that do not count."""
    for _ in range(n_warm):
        call()
    times = []
    for _ in range(n_calls):
        start = time.perf_counter()
        call()
        times.append(1000 * (time.perf_counter() - start))
    return Times(statistics.median(times), min(times))


def gemm_speed(n_calls: int = 5) -> float:
    """Float32 matrix product of 2048 x 2048 matrices, GFLOP/s, the fastest of `n_calls`."""
    first, second = torch.rand(2, GEMM_SIZE, GEMM_SIZE)
    times = measure(lambda: first @ second, n_calls)
    return 2 * GEMM_SIZE**3 / times.fastest / 1e6


def count_flop(call: Callable[[], object]) -> int:
    """Floating-point operations of the matrix products of a call, its backward pass included."""
    aten = torch.ops.aten
    in_place = {aten.addmm_: _product_flop, aten.baddbmm_: _product_flop}  # torch leaves these out
    with FlopCounterMode(display=False, custom_mapping=in_place) as counter:
        call()
    return int(counter.get_total_flops())


def _product_flop(out: torch.Size, first: torch.Size, _: torch.Size, **options: object) -> int:
    """The operations of `out += first @ second`, from their shapes."""
    del options
    return 2 * out.numel() * first[-1]


def peak_memory() -> float:
    """The most memory that this process has held, in MB, libraries and all."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not `ru_maxrss`: on Linux a new process inherits its parent's.
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # bytes on macOS


def in_new_process(script: str, *arguments: str) -> dict[str, float]:
    """Runs `script` with `arguments`; it prints a JSON object of numbers as its last line."""
    command = [sys.executable, script, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result
