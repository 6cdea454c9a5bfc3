"""Round trips between labels, segments, transcripts, durations and timestamps."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvast.errors import InputError
from uvast.sampling import nearest_sampled
from uvast.segments import (
    Segment,
    Segmentation,
    check_timestamps,
    merge_repeats,
    midpoint_durations,
    round_durations,
    run_starts,
)

frame_labels = st.lists(st.integers(0, 3), max_size=40)
pieces = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), min_size=1, max_size=12)
segmentations = pieces.map(lambda rows: Segmentation(*np.array(rows).T))


@given(frame_labels)
def test_labels_to_segments_and_back(labels):
    segmentation = Segmentation.from_labels(labels)
    assert segmentation.labels.tolist() == labels
    assert segmentation.n_frames == len(labels)
    assert (np.diff(segmentation.transcript) != 0).all()


@given(segmentations)
def test_segments_tile_the_frames(segmentation):
    segments = segmentation.segments
    assert [s.action for s in segments] == segmentation.transcript.tolist()
    assert segments[0].start == 0
    assert segments[-1].end == segmentation.n_frames == sum(s.end - s.start for s in segments)
    for index, (action, start, end) in enumerate(segments):
        assert (segmentation.labels[start:end] == action).all()
        assert (segmentation.segment_of_frame[start:end] == index).all()
        assert (segmentation.starts[index], segmentation.ends[index]) == (start, end)


@given(segmentations)
def test_merging_keeps_labels_and_leaves_no_equal_neighbours(segmentation):
    merged = segmentation.merged()
    assert merged == Segmentation.from_labels(segmentation.labels)
    assert merged.merged() is merged
    assert merge_repeats(segmentation.transcript).tolist() == merged.transcript.tolist()


@given(segmentations, st.floats(0.01, 1))
def test_chunks_are_equal_parts_none_too_long(segmentation, chunk_fraction):
    segmentation = segmentation.merged()
    chunked = segmentation.chunked(chunk_fraction)
    limit = max(1, chunk_fraction * segmentation.n_frames)
    assert chunked.durations.max() <= limit
    assert chunked.merged() == segmentation
    for _, start, end in segmentation.segments:
        inside = (chunked.starts >= start) & (chunked.ends <= end)
        parts = chunked.durations[inside]
        assert parts.sum() == end - start
        assert parts.max() - parts.min() <= 1
        # No more parts than needed: with one less, some part would be too long.
        assert len(parts) == 1 or -(-(end - start) // (len(parts) - 1)) > limit


@pytest.mark.parametrize(
    ("durations", "chunk_fraction", "expected"),
    [
        ([100], 0.17, [17, 17, 17, 17, 16, 16]),
        ([17, 83], 0.17, [17, 17, 17, 17, 16, 16]),
        ([1], 0.17, [1]),
        ([1, 1, 1], 0.01, [1, 1, 1]),
        ([3, 7], 1.0, [3, 7]),
    ],
)
def test_chunks_by_hand(durations, chunk_fraction, expected):
    segmentation = Segmentation(np.arange(len(durations)), durations)
    assert segmentation.chunked(chunk_fraction).durations.tolist() == expected


@pytest.mark.parametrize("fraction", [0, -0.5, 1.01, float("nan")])
def test_chunks_of_an_impossible_fraction(fraction):
    with pytest.raises(InputError, match=r"not in \(0, 1\]"):
        Segmentation([0], [5]).chunked(fraction)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(1, 7))
def test_upsampling_gives_each_frame_the_label_of_the_nearest_one_seen(source, rate):
    sampled = Segmentation.from_labels(source[::rate])
    restored = sampled.upsampled(rate, len(source))
    nearest = nearest_sampled(np.arange(len(source)), rate, len(source))
    assert restored.labels.tolist() == sampled.labels[nearest].tolist()
    assert restored.labels[::rate].tolist() == sampled.labels.tolist()


@given(segmentations, st.data())
def test_the_first_frames_are_those_of_the_labels(segmentation, data):
    n_frames = data.draw(st.integers(0, segmentation.n_frames))
    first = segmentation.first(n_frames)
    assert first.labels.tolist() == segmentation.labels[:n_frames].tolist()
    assert first.transcript.tolist() == segmentation.transcript[: len(first)].tolist()
    assert segmentation.first(segmentation.n_frames) == segmentation
    with pytest.raises(InputError, match="frames of a segmentation of"):
        segmentation.first(segmentation.n_frames + 1)


def test_upsampling_to_another_length_is_refused():
    with pytest.raises(InputError, match="3 frames at sampling rate 2 cannot be 7 source frames"):
        Segmentation([0], [3]).upsampled(2, 7)
    with pytest.raises(InputError, match="a sampling rate of 0, not at least 1"):
        Segmentation([0], [3]).upsampled(0, 3)


@given(segmentations, st.integers(0, 99))
def test_sampled_timestamps_lie_in_their_segments(segmentation, seed):
    timestamps = segmentation.sampled_timestamps(np.random.default_rng(seed))
    assert segmentation.segment_of_frame[timestamps].tolist() == list(range(len(segmentation)))
    check_timestamps(timestamps, segmentation.n_frames)


def test_sampled_timestamps_reach_every_frame():
    generator = np.random.default_rng(0)
    drawn = {int(Segmentation([0], [4]).sampled_timestamps(generator)[0]) for _ in range(100)}
    assert drawn == {0, 1, 2, 3}


@given(segmentations, st.integers(0, 99))
def test_midpoint_durations_keep_each_timestamp_in_its_segment(segmentation, seed):
    timestamps = segmentation.sampled_timestamps(np.random.default_rng(seed))
    durations = midpoint_durations(timestamps, segmentation.n_frames)
    cut = Segmentation(segmentation.transcript, durations)
    assert cut.n_frames == segmentation.n_frames
    assert cut.segment_of_frame[timestamps].tolist() == list(range(len(segmentation)))
    left, right = timestamps[:-1], timestamps[1:]
    assert (np.abs(2 * cut.ends[:-1] - (left + right)) <= 1).all()


@pytest.mark.parametrize(
    ("timestamps", "sentence"),
    [
        ([], "no timestamps; annotate at least one frame"),
        ([4, 2], "timestamp 2 comes after 4; order the timestamps, one frame each"),
        ([3, 3], "timestamp 3 comes after 3; order the timestamps, one frame each"),
        ([-1, 2], "timestamp -1 is outside of the video's 9 frames; "),
        ([2, 9], "timestamp 9 is outside of the video's 9 frames; "),
        ([0.5], "timestamps of type float64, not integers"),
        ([[1]], r"timestamps of shape \(1, 1\), not of one dimension"),
    ],
)
def test_bad_timestamps(timestamps, sentence):
    with pytest.raises(InputError, match=sentence):
        check_timestamps(timestamps, 9)


def test_a_timestamp_outside_of_one_frame():
    with pytest.raises(InputError, match="timestamp 1 is outside of the video's 1 frame; "):
        check_timestamps([1], 1)


fractions = st.lists(st.floats(0, 10, allow_subnormal=False), min_size=1, max_size=12)


@given(fractions, st.integers(0, 60))
def test_rounded_durations_tile_the_video_and_lose_no_segment(shares, n_frames):
    durations = round_durations(shares, n_frames)
    assert durations.dtype == np.int64
    assert durations.sum() == n_frames
    if len(shares) <= n_frames:
        assert durations.min() >= 1
    else:
        assert set(durations.tolist()) <= {0, 1}
        kept = np.array(shares)[durations == 1]
        lost = np.array(shares)[durations == 0]
        assert n_frames == 0 or kept.min() >= lost.max()


@given(fractions, st.integers(1, 60))
def test_rounding_is_idempotent_and_never_swaps(shares, n_frames):
    durations = round_durations(shares, n_frames)
    assert round_durations(durations, n_frames).tolist() == durations.tolist()
    for (small, fewer), (large, more) in product(zip(shares, durations, strict=True), repeat=2):
        assert small * (1 + 1e-9) >= large or fewer <= more


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(1, 14))
def test_rounded_durations_are_the_nearest_to_the_ideal(weights, n_frames):
    ideal = np.array(weights) / sum(weights) * n_frames
    if ideal.min() < 1:
        return
    durations = round_durations(weights, n_frames)
    candidates = np.array(
        [c for c in product(range(n_frames + 1), repeat=len(weights)) if sum(c) == n_frames]
    )
    nearest = np.abs(candidates - ideal).sum(1).min()
    assert np.abs(durations - ideal).sum() == pytest.approx(nearest)
    assert (np.abs(durations - ideal) < 1).all()


@pytest.mark.parametrize(
    ("shares", "n_frames", "expected"),
    [
        ([1, 1, 1], 10, [4, 3, 3]),
        ([0.5, 0.3, 0.2], 10, [5, 3, 2]),
        ([1, 0, 0], 5, [3, 1, 1]),
        ([0, 0, 0], 7, [3, 2, 2]),
        ([10, 1, 1, 1], 3, [1, 1, 1, 0]),
        ([1, 9, 5], 2, [0, 1, 1]),
        ([1, 1], 0, [0, 0]),
        ([1e308, 1e308], 4, [2, 2]),
        ([5e-324, 5e-324], 4, [2, 2]),
    ],
)
def test_rounding_by_hand(shares, n_frames, expected):
    assert round_durations(shares, n_frames).tolist() == expected


@pytest.mark.parametrize(
    ("shares", "n_frames", "sentence"),
    [
        ([], 5, r"fractions of shape \(0,\)"),
        ([[1.0]], 5, r"fractions of shape \(1, 1\)"),
        ([1, -1], 5, "finite and not negative"),
        ([1, np.nan], 5, "finite and not negative"),
        ([1, np.inf], 5, "finite and not negative"),
        ([1], -1, "-1 frames to share out"),
    ],
)
def test_fractions_that_cannot_be_right(shares, n_frames, sentence):
    with pytest.raises(InputError, match=sentence):
        round_durations(shares, n_frames)


@pytest.mark.parametrize(
    ("transcript", "durations", "sentence"),
    [
        ([0, 1], [3], "a transcript of 2 actions with 1 durations"),
        ([0, 1], [3, 0], "a segment of 0 frames, but every segment needs at least 1"),
        ([[0]], [1], r"transcript of shape \(1, 1\), not of one dimension"),
        ([0], [1.5], "durations of type float64, not integers"),
    ],
)
def test_segmentations_that_cannot_be(transcript, durations, sentence):
    with pytest.raises(InputError, match=sentence):
        Segmentation(transcript, durations)


def test_an_empty_video_and_a_video_of_one_frame():
    empty = Segmentation.from_labels([])
    assert (len(empty), empty.n_frames, empty.segments) == (0, 0, ())
    assert empty.merged() == empty == empty.chunked(0.5)
    assert Segmentation.from_labels([7]).segments == (Segment(7, 0, 1),)
    assert run_starts(np.array([])).tolist() == []


def test_a_segmentation_cannot_be_changed_from_outside():
    transcript, durations = np.array([0, 1]), np.array([2, 3])
    segmentation = Segmentation(transcript, durations)
    durations[0] = 99
    assert segmentation.n_frames == 5
    for name in ("transcript", "durations", "starts", "ends"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(segmentation, name)[0] = 9


def test_equality_hash_and_pickle():
    one, same = Segmentation([0, 1], [2, 3]), Segmentation.from_labels([0, 0, 1, 1, 1])
    other = Segmentation([0, 1], [3, 2])
    assert one == same
    assert one != other
    assert one != "A B"
    assert {one, same, other} == {one, other}
    assert pickle.loads(pickle.dumps(one)) == one
