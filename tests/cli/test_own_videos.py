"""From a folder of mp4 files to a model, and from a new mp4 to its actions.

Slow because it trains a real model: on videos in which no single picture tells the action.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from in_process import uvast
from uvast.evaluation import score
from uvast.exchange import Event, VideoAnnotations
from uvast.features import (
    generate_videos,
    motion_vocabulary,
    presentation_times,
    read_card,
    video_info,
)
from uvast.features.generate import RATE
from uvast.projects import Project
from uvast.segments import Segmentation

N_TRAINING, N_NEW, SEED = 14, 5, 2
WIDTH, HEIGHT = 96, 72
TRAINING = "--preset demo --stage 1 --epochs 15 --validation 0"
NETWORK = "--set model.width=32 --set train.batch_size=2"


def run(*arguments: object) -> None:
    finished = uvast(*arguments)
    assert finished.returncode == 0, finished.stderr


def click(project: Project, truths: dict[str, Segmentation]) -> None:
    """One click somewhere in each action, in seconds."""
    generator = np.random.default_rng(SEED)
    names = motion_vocabulary().names
    for video in project.names:
        clicks = [
            Event(names[one.action], (generator.integers(one.start, one.end) + 0.5) / RATE)
            for one in truths[video].segments
        ]
        project.write_annotations(VideoAnnotations(video, tuple(clicks)))


def f1_at_50(folder: Path, truths: dict[str, Segmentation]) -> float:
    """Of a folder of predictions, at the frames of their features."""
    vocabulary = motion_vocabulary()
    pairs = []
    for path in folder.glob("*.txt"):
        predicted = vocabulary.encode(path.read_text().splitlines())
        true = truths[path.stem]
        times = np.array(read_card(folder / "features" / f"{path.stem}.json").times)
        frames = np.minimum(np.round(times * RATE).astype(int), true.n_frames - 1)
        pairs.append(tuple(map(Segmentation.from_labels, (predicted, true.labels[frames]))))
    assert len(pairs) == N_NEW
    return score(pairs, vocabulary).columns()["f1@50"]


def test_clicks_on_own_videos_make_a_model_that_segments_new_ones(tmp_path: Path) -> None:
    videos, new, project = (tmp_path / name for name in ("videos", "new", "project"))
    size = {"seconds": 16.0, "width": WIDTH, "height": HEIGHT}
    truths = generate_videos(videos, n_videos=N_TRAINING + N_NEW, seed=SEED, **size)
    new.mkdir()
    held_out = list(truths)[N_TRAINING:]
    for name in held_out:
        (videos / f"{name}.mp4").rename(new / f"{name}.mp4")

    run("init", project, "--videos", videos)
    run("extract", project, "--model", "pixels")
    click(Project.open(project), truths)
    run("train", project, "--supervision", "timestamps", *TRAINING.split(), *NETWORK.split())
    segmented, framewise = tmp_path / "segmented", tmp_path / "framewise"
    run("segment", project, new, "--transcript", "semi-markov", "--out", segmented)
    frames = ("--transcript", "frames", "--durations", "none")
    run("segment", project, new, *frames, "--format", "txt", "--out", framewise)
    assert f1_at_50(segmented, truths) >= f1_at_50(framewise, truths) + 15

    video, annotated = new / f"{held_out[0]}.mp4", tmp_path / "annotated.mp4"
    run("overlay", video, segmented / f"{held_out[0]}.json", "--out", annotated)
    assert len(presentation_times(annotated)) == len(presentation_times(video))
    assert video_info(annotated).height > HEIGHT  # the band below the picture
