"""Are confidences right for a person whom neither model nor temperature has met?

    uvast compare DATA --set train.folds=0 --out inner
    python benchmarks/fold_confidences.py inner/DATA/small-*-full/split1-fold*

There is one run per fold of a training side. For each subject in turn, the held-out videos of all
others fit the temperature, and the subject's own videos are scored: expected calibration error of
the frames, in percent, as they are, with one temperature for all videos, and with one that follows
each video's mean confidence. No test side is opened.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

import uvast
from uvast.data import Dataset
from uvast.data.folds import known_subjects
from uvast.evaluation import expected_calibration_error
from uvast.inference.temperature import (
    JudgedFrames,
    Temperature,
    fit_temperature,
    mean_confidence,
    tempered,
)
from uvast.runs import RunFolder


def held_out(runs: list[Path]) -> dict[str, JudgedFrames]:
    """What a run that has not learned from a video makes of it, for every video."""
    infos = [RunFolder.open(run).info for run in runs]
    every = sorted({name for info in infos for name in info.train})
    found = {}
    for run, info in zip(runs, infos, strict=True):
        model = uvast.load(run)
        dataset = Dataset.open(info.dataset).at_rate(model.sampling_rate)
        for name in (one for one in every if one not in info.train):
            video = dataset.video(name)
            assert video.labels is not None, "training sides have labels"
            logs = model.encode_batch([video]).frames[0].log_probabilities
            n_frames = min(len(logs), len(video.labels))
            found[name] = JudgedFrames(
                logs[:n_frames], video.labels[:n_frames], np.ones(n_frames), mean_confidence(logs)
            )
    return found


def error(videos: list[JudgedFrames], temperature: Temperature) -> float:
    """Expected calibration error of all frames, in percent."""
    logs = [tempered(one.log_probabilities, temperature.at(one.confidence)) for one in videos]
    shown = np.exp(np.concatenate(logs)).clip(0, 1)
    right = shown.argmax(1) == np.concatenate([one.labels for one in videos])
    return 100 * expected_calibration_error(shown.max(1), right)


def one_for_all(videos: list[JudgedFrames]) -> Temperature:
    """The temperature of videos that all count as equally confident."""
    return fit_temperature([replace(one, confidence=0.5) for one in videos])


def main() -> None:
    """Prints one line per subject, and the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--group-by", help="finds the subject in a video's name")
    arguments = parser.parse_args()
    videos = held_out(arguments.runs)
    dataset = Dataset.open(RunFolder.open(arguments.runs[0]).info.dataset)
    group_by = arguments.group_by or dataset.spec.group_by
    subjects = known_subjects(tuple(videos), group_by, dataset.splits)
    rows = []
    print("as it is, one temperature, by video | videos")
    for subject in subjects or [(name,) for name in videos]:
        others = [video for name, video in videos.items() if name not in subject]
        own = [videos[name] for name in subject]
        ways = (Temperature(), one_for_all(others), fit_temperature(others))
        rows.append([error(own, way) for way in ways])
        print(" ".join(f"{value:6.1f}" for value in rows[-1]), "|", subject[0], f"({len(subject)})")
    print(" ".join(f"{value:6.1f}" for value in np.mean(rows, axis=0)), "| mean")


if __name__ == "__main__":
    main()
