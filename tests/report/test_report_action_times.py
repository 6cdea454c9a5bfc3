"""Time spent in each action: planted totals, shares that sum to one, a CSV that reads back."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted_report import segmentation, tracks

from uvast.report import Report, write_action_times
from uvast.report.action_times import action_times
from uvast.report.compare import compare
from uvast.segments import Segmentation
from uvast.vocabulary import Vocabulary

CLASSES = Vocabulary(("rest", "groom", "rear"))


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=40), min_size=1, max_size=4))
def test_totals_and_counts_are_those_of_the_labels(videos: list[list[int]]) -> None:
    found = action_times([Segmentation.from_labels(one) for one in videos], CLASSES)
    every = np.concatenate(videos)
    assert [one.action for one in found] == np.unique(every).tolist()
    for one in found:
        runs = ["".join(map(str, video)).replace(str(one.action), "x") for video in videos]
        n_runs = sum(
            1 for run in runs for i, c in enumerate(run) if c == "x" and (not i or run[i - 1] != c)
        )
        assert (one.n_frames, one.n_segments) == ((every == one.action).sum(), n_runs)
        assert one.mean_frames == one.n_frames / n_runs
    assert sum(one.share for one in found) == pytest.approx(1)


def test_neighbours_of_one_action_are_one_segment() -> None:
    (one,) = action_times([segmentation((1, 5), (1, 5))], CLASSES)
    assert (one.n_segments, one.mean_frames) == (1, 10)


def test_a_video_that_is_tested_in_two_splits_counts_once(tmp_path: Path) -> None:
    found = {"a": segmentation((0, 30)), "b": segmentation((2, 60))}
    compared = compare({"frames": tracks(found)}, {"a": segmentation((0, 30))}, CLASSES)
    first, second = compared.videos
    twice = replace(compared, videos=(first, replace(first, split=2), second))
    report = Report("r", {}, vocabulary=CLASSES, comparison=twice)
    write_action_times(report, tmp_path / "times.csv")
    with (tmp_path / "times.csv").open(newline="") as file:
        rows = [one for one in csv.DictReader(file) if one["video"] == "all videos"]
    assert [(one["source"], one["action"], one["frames"]) for one in rows] == [
        ("ground truth", "rest", "30"),
        ("frames", "rest", "30"),
        ("frames", "rear", "60"),
    ]


def test_the_table_has_every_video_and_all_together(tmp_path: Path) -> None:
    found = {"a": segmentation((0, 30), (1, 10), (0, 20)), "b": segmentation((2, 60))}
    truths = {"a": segmentation((0, 60))}
    compared = compare({"frames": tracks(found)}, truths, CLASSES)
    report = Report("r", {}, vocabulary=CLASSES, frames_per_second=10.0, comparison=compared)
    write_action_times(report, tmp_path / "times.csv")
    with (tmp_path / "times.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    key = ("video", "source", "action", "segments", "frames", "mean_frames", "seconds", "share")
    assert [tuple(row[name] for name in key) for row in rows] == [
        ("all videos", "ground truth", "rest", "1", "60", "60.00", "6.000", "1.000000"),
        ("all videos", "frames", "rest", "2", "50", "25.00", "5.000", "0.416667"),
        ("all videos", "frames", "groom", "1", "10", "10.00", "1.000", "0.083333"),
        ("all videos", "frames", "rear", "1", "60", "60.00", "6.000", "0.500000"),
        ("a", "ground truth", "rest", "1", "60", "60.00", "6.000", "1.000000"),
        ("a", "frames", "rest", "2", "50", "25.00", "5.000", "0.833333"),
        ("a", "frames", "groom", "1", "10", "10.00", "1.000", "0.166667"),
        ("b", "frames", "rear", "1", "60", "60.00", "6.000", "1.000000"),
    ]
    unknown = Report("r", {}, vocabulary=CLASSES, comparison=compared)
    write_action_times(unknown, tmp_path / "frames.csv")
    with (tmp_path / "frames.csv").open(newline="") as file:
        assert {row["seconds"] + row["mean_seconds"] for row in csv.DictReader(file)} == {""}
