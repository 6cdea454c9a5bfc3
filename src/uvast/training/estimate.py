"""How long a run will take, measured by a few steps of the real loop on noise."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from uvast.data import Video, collate
from uvast.data.batching import Unlabelled
from uvast.devices import is_one_of_several, n_cores
from uvast.models.build import build_model
from uvast.models.protocols import as_aligner, learns_unlabelled
from uvast.segments import Segmentation, round_durations
from uvast.training.batches import EpochBatches
from uvast.training.distributed import Processes
from uvast.training.loop import Loop
from uvast.training.objectives import StageTwo, stage_one_objective
from uvast.training.watching import Silent
from uvast.vocabulary import Vocabulary
from uvast.workers import THREADS

if TYPE_CHECKING:
    from uvast.config import Config
    from uvast.config.auto import DataFacts
    from uvast.data import Batch
    from uvast.training.objectives import Objective

MOST_FRAMES = 1000
"""Frames to measure a step on; a longer video takes about as long per frame."""
N_STEPS = 2
WORTH_FRAMES = 1_000_000
"""Frames seen in all epochs, a minute or so of training, from which separate processes pay off."""
MOST_AT_ONCE = 4
MOST_FRAMES_EACH = 5_000
"""Frames of the longest video up to which several models fit into a small machine's memory."""
DECODED = 1.5
"""Decoding a video, by `best` and by the decoder alone, takes about this many training steps."""
CALIBRATED = 20
"""The same for decoding it with every candidate weight."""


def expected_seconds(
    config: Config,
    facts: DataFacts,
    device: torch.device,
    n_members: int = 1,
    jobs: int = 1,
) -> float:
    """Estimates how long all epochs, inner runs and validations will take.

    The estimate takes a second or so. It leaves out reading files and making pseudo-labels. An
    unlabelled video is taken to be as long as the others. Only the first of several members has
    inner runs; these, and then the other members, are trained `jobs` at a time, each step with
    about as many cores as it can use.
    """
    n_frames = max(1, round(facts.n_frames / facts.n_videos / (config.train.sampling_rate or 1)))
    measured = min(n_frames, MOST_FRAMES)
    batch = _noise(facts, measured).to(device)
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        model = build_model(
            config.model, n_features=facts.n_features, n_classes=facts.n_classes
        ).to(device)
        classes = Vocabulary(tuple(map(str, range(facts.n_classes))))
        epochs = config.train.epochs_of_stages(has_second=as_aligner(model) is not None)
        objective = stage_one_objective(model, classes, config.loss)
        step = learned = _step(config, objective, 1, batch)
        if config.train.unlabelled != "none" and learns_unlabelled(model):
            beside = Unlabelled(batch.features, batch.mask, progress=0.5)
            learned = _step(config, objective, 1, replace(batch, unlabelled=beside))
        seconds = epochs[1] * facts.n_videos * learned
        if 2 in epochs:
            second = _step(config, StageTwo(model, classes), 2, batch)
            seconds += epochs[2] * facts.n_videos * second
    n_validations = sum(-(-n // config.train.validate_every) for n in epochs.values())
    seconds += n_validations * facts.n_validation * DECODED * step
    seconds *= 1 + -(-(n_members - 1) // jobs)
    if facts.n_folds:
        shown = facts.n_videos * (facts.n_folds - 1) / facts.n_folds  # each is left out of one
        n_rounds = -(-facts.n_folds // jobs)
        seconds += n_rounds * config.train.epochs_of_fold * shown * learned
        seconds += facts.n_videos * CALIBRATED * step
    return seconds * n_frames / measured


def jobs_that_pay(
    config: Config, facts: DataFacts, device: torch.device, n_members: int = 1
) -> int:
    """How many inner runs or members to train at a time if the user does not say.

    On a CPU, one per core, or per `OMP_NUM_THREADS` cores, since a step gains little from a second
    core. Only one if the run is so short that starting processes would not pay, or if videos are
    so long that memory might run out. No time is measured, so that a command gives the same
    weights again.
    """
    rate = config.train.sampling_rate or 1
    n_seen = config.train.epochs * facts.n_frames / rate
    if device.type != "cpu" or is_one_of_several() or n_seen < WORTH_FRAMES:
        return 1
    if facts.longest / rate > MOST_FRAMES_EACH:
        return 1
    threads = os.environ.get(THREADS, "")
    n_free = n_cores() // max(1, int(threads) if threads.isdecimal() else 1)
    return max(1, min(n_free, MOST_AT_ONCE, max(facts.n_folds, n_members - 1)))


def _step(config: Config, objective: Objective, stage: int, batch: Batch) -> float:
    """Seconds that a step takes per video; the first step warms up and does not count."""
    loop = Loop(objective, config.train, stage=stage, epochs=2, processes=Processes())
    n_batches = config.train.accumulation
    loop.run_epoch(0, EpochBatches(1, iter([batch] * n_batches)), Silent())
    drawn = EpochBatches(N_STEPS, iter([batch] * (N_STEPS * n_batches)))
    return loop.run_epoch(1, drawn, Silent()).seconds / (N_STEPS * n_batches)


def _noise(facts: DataFacts, n_frames: int) -> Batch:
    """A random video with this many frames and an average number of segments."""
    generator = np.random.default_rng(0)
    n_segments = min(max(1, round(facts.n_segments / facts.n_videos)), n_frames)
    transcript = np.arange(n_segments) % facts.n_classes
    durations = round_durations(np.full(n_segments, 1 / n_segments), n_frames)
    features = generator.standard_normal((n_frames, facts.n_features)).astype(np.float32)
    video = Video("noise", features, None, n_frames)
    return collate([video], [Segmentation(transcript, durations)])
