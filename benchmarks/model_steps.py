"""The training step of every kind of model, as a share of this machine's GEMM speed.

    python benchmarks/model_steps.py [--threads N] [--kinds ms-tcn,asrf] [--calls 9] [--count]

Each kind runs with its preset's settings on one video of GTEA's size (1060 frames, 2048 features,
11 classes, 33 segments), and on an unlabelled one if it learns from such: forward, losses,
backward, optimiser. The work is counted as the products are called, two operations per
multiplication, and compared with a 2048 x 2048 product timed right before. Run it on an idle
machine. `--count` only counts. The exit code is 1 if a kind stays under 15 %.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import torch

from machine import Times, count_flop, gemm_speed, measure
from training_step import SHAPES, make_batch
from uvast.config import Config, load_config
from uvast.data.batching import Unlabelled
from uvast.models.build import BUILDERS, build_model
from uvast.training.objectives import stage_one_objective
from uvast.training.optimisation import build_optimiser
from uvast.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable

    from uvast.data import Batch

LEAST_SHARE = 15.0
GTEA = SHAPES["gtea"]
N_FEATURES = 2048


def training_step(config: Config, n_features: int, n_classes: int) -> Callable[[Batch], None]:
    """A step of the first stage of training, optimiser included."""
    torch.manual_seed(0)
    model = build_model(config.model, n_features=n_features, n_classes=n_classes)
    names = tuple(f"action {index}" for index in range(n_classes))
    objective = stage_one_objective(model, Vocabulary(names), config.loss)
    objective.train_mode()
    optimiser = build_optimiser(
        list(objective.parameters().values()),
        learning_rate=config.train.learning_rate,
        weight_decay=config.train.weight_decay,
    )

    def step(batch: Batch) -> None:
        if config.train.unlabelled != "none":
            batch = replace(batch, unlabelled=Unlabelled(batch.features, batch.mask, progress=0.5))
        loss = objective.losses(batch).total
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    return step


def n_parameters(config: Config) -> int:
    """The number of parameters of the trained model at GTEA's size."""
    with torch.device("meta"):
        model = build_model(config.model, n_features=N_FEATURES, n_classes=GTEA.n_classes)
    return sum(one.numel() for one in model.parameters())


def main() -> int:
    """Prints one row per kind; exit code 1 if one is under the least share."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--kinds", default=",".join(BUILDERS), help="separated by commas")
    parser.add_argument("--calls", type=int, default=9, help="steps of which the median is taken")
    parser.add_argument("--count", action="store_true", help="count the work, measure nothing")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    batch = make_batch(GTEA, [GTEA.n_frames])
    print(f"torch {torch.__version__}, {arguments.threads} threads, T {GTEA.n_frames}, batch 1")
    print(f"{'kind':10} {'parameters':>11} {'GFLOP':>7} {'ms':>7} {'fastest':>8} {'GEMM':>6} share")
    slow = []
    for kind in arguments.kinds.split(","):
        config = load_config(preset=kind)
        step = partial(training_step(config, N_FEATURES, GTEA.n_classes), batch)
        work = count_flop(step) / 1e9
        row = f"{kind:10} {n_parameters(config):11,} {work:7.2f}"
        if not arguments.count:
            gemm, times = gemm_speed(), measure(step, arguments.calls)
            share = share_of_gemm(work, times, gemm)
            row += f" {times.median:7.1f} {times.fastest:8.1f} {gemm:6.0f} {share:4.0f} %"
            if share < LEAST_SHARE:
                slow.append(f"{kind} ({share:.0f} %)")
        print(row, flush=True)
    if slow:
        print(f"under {LEAST_SHARE:.0f} % of GEMM speed: {', '.join(slow)}")
    return int(bool(slow))


def share_of_gemm(gflop: float, times: Times, gemm: float) -> float:
    """The median speed of a step with this work, as a percentage of `gemm`, in GFLOP/s."""
    return 100 * gflop / (times.median / 1000) / gemm


if __name__ == "__main__":
    raise SystemExit(main())
