"""Peak memory of segmenting a long video, from its feature file to its segments.

    python benchmarks/long_video.py [--frames 324000] [--features 64,512] [--members 1]

By default three hours at 30 frames per second. The network is that of the preset `small`, with
random weights and a scaling. Each row is a process of its own. `encoder` reads, scales and encodes;
the others also segment and write files: `decoder` with 100 actions and Viterbi, `frames` with as
many segments as noise has. The exit code is 1 if a row needs more than 1500 MB.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from machine import in_new_process, peak_memory
from uvast.config import load_config
from uvast.data import Scaling
from uvast.inference.inputs import FeatureFile
from uvast.inference.output import write_prediction
from uvast.inference.priors import Priors
from uvast.inference.segmenter import Segmenter
from uvast.models.build import build_model
from uvast.models.ensemble import Ensemble
from uvast.segments import Segmentation
from uvast.vocabulary import Vocabulary

LIMIT = 1500
N_CLASSES, N_SEGMENTS = 12, 100
TASKS: dict[str, dict[str, Any]] = {
    "encoder": {},
    "semi-markov": {"transcript": "semi-markov"},
    "frames": {"transcript": "frames", "durations": "none"},
    "decoder": {"transcript": "decoder", "durations": "viterbi", "max_segments": N_SEGMENTS},
}


def make_segmenter(n_features: int, n_members: int, n_frames: int) -> Segmenter:
    """The model of the preset `small`, or an ensemble of such models."""
    torch.manual_seed(0)
    config = load_config(preset="small")
    generator = np.random.default_rng(0)
    scaling = Scaling(
        generator.standard_normal(n_features), generator.uniform(0.5, 2, n_features), levels=True
    )
    members = [
        build_model(config.model, n_features=n_features, n_classes=N_CLASSES)
        for _ in range(n_members)
    ]
    module: torch.nn.Module = members[0]
    if n_members > 1:
        module = Ensemble(members, [True] * n_members, [True] * n_members)
        for index in range(n_members):
            module.set_scaling(index, scaling)
    truth = Segmentation(
        np.arange(N_SEGMENTS) % N_CLASSES, np.full(N_SEGMENTS, max(1, n_frames // N_SEGMENTS))
    )
    return Segmenter(
        module.eval(),
        vocabulary=Vocabulary(tuple(f"action {index}" for index in range(N_CLASSES))),
        config=config,
        priors=Priors.fit([truth], N_CLASSES),
        scaling=scaling if n_members == 1 else None,
    )


def write_features(path: Path, n_frames: int, n_features: int) -> None:
    """Noise, in a file that is written piece by piece."""
    generator = np.random.default_rng(0)
    file = np.lib.format.open_memmap(path, "w+", np.float32, (n_frames, n_features))
    for start in range(0, n_frames, 2**14):
        rows = file[start : start + 2**14]
        rows[:] = generator.standard_normal(rows.shape, dtype=np.float32)
    file.flush()


def measure_alone(task: str, path: Path, n_features: int, n_members: int) -> dict[str, float]:
    """What a separate process prints: seconds, and its own peak memory."""
    source = FeatureFile(path, n_features, 1)
    segmenter = make_segmenter(n_features, n_members, source.n_frames())
    start = time.perf_counter()
    video = source.read()
    options = segmenter.options(**TASKS[task])
    encoded = segmenter.encode_batch([video], options)
    if task != "encoder":
        (prediction,) = segmenter.decode_batch(encoded, options)
        write_prediction(path.parent, task, prediction, ("txt", "json"))
    return {"seconds": time.perf_counter() - start, "memory": peak_memory()}


def main() -> int:
    """Prints one row per width and task; exit code 1 if one needs more than the limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=324_000)
    parser.add_argument("--features", default="64,512", help="widths, separated by commas")
    parser.add_argument("--members", type=int, default=1, help="models of an ensemble")
    parser.add_argument("--tasks", default=",".join(TASKS), help="separated by commas")
    parser.add_argument("--alone", nargs=3, metavar=("TASK", "FILE", "F"))
    arguments = parser.parse_args()
    if arguments.alone:
        task, path, width = arguments.alone
        print(json.dumps(measure_alone(task, Path(path), int(width), arguments.members)))
        return 0
    print(f"torch {torch.__version__}, {arguments.frames:,} frames, {arguments.members} model(s)")
    print(f"{'features':>8} {'file, MB':>9} {'task':>12} {'MB':>7} {'s':>6}")
    too_much = 0
    members = ("--members", str(arguments.members))
    with tempfile.TemporaryDirectory() as folder:
        for width in map(int, arguments.features.split(",")):
            path = Path(folder) / f"{width}.npy"
            write_features(path, arguments.frames, width)
            for task in arguments.tasks.split(","):
                alone = ("--alone", task, str(path), str(width))
                found = in_new_process(__file__, *members, *alone)
                n_bytes = path.stat().st_size / 1e6
                print(
                    f"{width:8d} {n_bytes:9.0f} {task:>12} {found['memory']:7.0f} "
                    f"{found['seconds']:6.1f}",
                    flush=True,
                )
                too_much += found["memory"] > LIMIT
    return int(too_much > 0)


if __name__ == "__main__":
    raise SystemExit(main())
