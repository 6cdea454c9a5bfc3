"""`uvast train --members 3`, one model after the other and several at a time.

    python benchmarks/side_by_side.py [--jobs 2] [--epochs 12] [--frames 1060]

Preset `small` on 12 generated videos: three inner runs, then three members. Prints the seconds of
both commands, with the start of every process, and their ratio. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import uvast

N_VIDEOS = 12
MEMBERS = 3


def seconds(data: Path, out: Path, epochs: int, jobs: int) -> float:
    """The seconds of one training."""
    settings = (f"train.epochs={epochs}", "train.alignment_epochs=0")
    command = [sys.executable, "-m", "uvast", "train", str(data), "--preset", "small"]
    command += [word for one in settings for word in ("--set", one)]
    command += ["--members", str(MEMBERS), "--jobs", str(jobs), "--out", str(out)]
    start = time.perf_counter()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Prints three lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--frames", type=int, default=1060)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        uvast.generate_dataset(data, n_videos=N_VIDEOS, n_frames=arguments.frames)
        found = {}
        for jobs in (1, arguments.jobs):
            found[jobs] = seconds(data, Path(folder) / str(jobs), arguments.epochs, jobs)
            print(f"--jobs {jobs}: {found[jobs]:.0f} s", flush=True)
    print(f"ratio {found[1] / found[arguments.jobs]:.2f}")


if __name__ == "__main__":
    main()
