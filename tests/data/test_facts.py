"""The facts that preset `auto` plans from, on planted data."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from uvast.data import Dataset
from uvast.data.facts import found_supervision, read_facts
from uvast.errors import SplitError


@pytest.fixture
def folder(tmp_path):
    """Two videos at 10 frames a second, of 100 and 50 frames, segments of 10 to 50."""
    labels = {"v1": "a" * 20 + "b" * 50 + "a" * 30, "v2": "b" * 40 + "c" * 10}
    clicks = {"v1": [(5, "a"), (30, "b"), (33, "b"), (80, "a")], "v2": [(39, "b"), (43, "c")]}
    for name, text in labels.items():
        (tmp_path / "features").mkdir(exist_ok=True)
        (tmp_path / "groundTruth").mkdir(exist_ok=True)
        np.save(tmp_path / "features" / f"{name}.npy", np.zeros((len(text), 3), np.float32))
        (tmp_path / "groundTruth" / f"{name}.txt").write_text("\n".join(text) + "\n")
    (tmp_path / "dataset.toml").write_text(
        'frames_per_second = 10.0\nfeature_axis = "time-first"\n'
    )
    rows = {n: [{"frame": f, "label": c} for f, c in of] for n, of in clicks.items()}
    (tmp_path / "timestamps.json").write_text(json.dumps(rows))
    return tmp_path


def test_facts_of_labels(folder):
    data = Dataset.open(folder)
    found = read_facts(data, data.names, supervision="full", validation=["v3", "v4"])
    assert (found.n_videos, found.n_validation, found.n_frames, found.longest) == (2, 2, 150, 100)
    assert (found.n_features, found.n_classes, found.n_segments) == (3, 3, 5)
    assert (found.most_segments, found.frames_per_second) == (3, 10.0)
    assert (found.short_segment, found.typical_segment) == (12, 30)
    assert found.least_gap is found.sampling_rate is None


def test_facts_of_clicks_are_of_the_gaps_between_them(folder):
    data = Dataset.open(folder)
    found = read_facts(data, data.names, supervision="timestamps")
    # v1: 25, 3, 47 and, around both ends, 25; v2: 4 and 46
    assert found.typical_segment == 25
    assert found.n_segments * 25 == found.n_frames == 150
    assert found.least_gap == 4  # 3 is between two clicks of one action
    assert found.n_videos == 2


def test_of_held_out_clicks_only_the_least_gap_counts(folder):
    data = Dataset.open(folder)
    alone = read_facts(data, ["v1"], supervision="timestamps")
    found = read_facts(data, ["v1"], supervision="timestamps", validation=["v2"])
    assert (alone.least_gap, found.least_gap) == (25, 4)
    assert found == replace(alone, least_gap=4, n_validation=1)


def test_a_rate_that_somebody_has_set_is_a_fact_even_if_it_is_1(folder):
    toml = folder / "dataset.toml"
    text = toml.read_text()
    for rate in (1, 5):
        toml.write_text(f"{text}sampling_rate = {rate}\n")
        data = Dataset.open(folder)
        found = read_facts(data, data.names, supervision="full")
        assert (found.sampling_rate, found.n_frames) == (rate, 150)


def test_clicks_alone_are_taken_for_what_they_are(folder):
    assert found_supervision(Dataset.open(folder), ["v1", "v2"]) == "full"
    (folder / "groundTruth" / "v1.txt").unlink()
    data = Dataset.open(folder)
    assert found_supervision(data, ["v1"]) == "timestamps"
    assert found_supervision(data, ["v1", "v2"]) == "full"
    assert read_facts(data, ["v1", "v2"], supervision="full").n_videos == 1
    (folder / "timestamps.json").unlink()
    assert found_supervision(Dataset.open(folder), ["v1"]) == "full"


def test_no_video_to_learn_from(folder):
    data = Dataset.open(folder)
    for supervision in ("full", "timestamps"):
        with pytest.raises(SplitError, match="no videos to train on"):
            read_facts(data, [], supervision=supervision)


def test_a_dataset_at_another_rate_keeps_what_its_timestamps_count(folder):
    toml = folder / "dataset.toml"
    toml.write_text(f'{toml.read_text()}sampling_rate = 2\ntimestamps_rate = "sampled"\n')
    (folder / "timestamps.json").write_text(
        '{"v1": [{"frame": 5, "label": "a"}, {"frame": 20, "label": "b"}]}'
    )
    data = Dataset.open(folder)
    other = data.at_rate(5)
    assert data.timestamps()["v1"].frames.tolist() == [5, 20]
    assert other.timestamps()["v1"].frames.tolist() == [2, 8]  # source frames 10 and 40
    assert (data.video("v1").n_frames, other.video("v1").n_frames) == (50, 20)
    assert other.at_rate(0).sampling_rate == 2
