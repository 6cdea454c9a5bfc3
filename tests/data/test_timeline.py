"""Time that runs faster and slower, and samples put together from pieces."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.data.recombination import LARGEST_STRETCH, SegmentPool
from uvast.data.time_warp import TimeMap
from uvast.data.timeline import SEAM, Timeline, interpolated
from uvast.segments import Segmentation

ACTION, VIDEO, FRAME = range(3)
"""Columns of features that say where a frame is from."""

segmentations = st.lists(
    st.tuples(st.integers(0, 4), st.integers(1, 30)), min_size=1, max_size=12
).map(lambda pairs: Segmentation(*np.array(pairs).T).merged())
pools = st.lists(segmentations, min_size=1, max_size=5).map(
    lambda found: {f"v{index}": one for index, one in enumerate(found)}
)
seeds = st.integers(0, 2**32)


def plain(n_frames: int) -> TimeMap:
    return TimeMap.drawn(n_frames, np.random.default_rng(0), speed=1, warp=1)


def told(targets: dict[str, Segmentation]) -> dict[str, np.ndarray]:
    """Features that tell action, video and frame."""
    return {
        name: np.stack(
            (one.labels, np.full(one.n_frames, index), np.arange(one.n_frames)), axis=1
        ).astype(np.float32)
        for index, (name, one) in enumerate(targets.items())
    }


def test_twice_as_fast_is_half_as_long_and_no_segment_is_lost() -> None:
    time = TimeMap(np.array([0.0, 12.0]), np.array([0.0, 6.0]))
    warped, shares = time.warped(Segmentation([3, 0, 1], [8, 1, 3]))
    assert warped == Segmentation([3, 0, 1], [4, 1, 2])
    np.testing.assert_allclose(shares[:4], [1 / 8, 3 / 8, 5 / 8, 7 / 8])
    np.testing.assert_allclose(shares[4:], [1 / 2, 1 / 4, 3 / 4])


def test_a_part_of_a_video_has_a_pace_of_its_own() -> None:
    time = TimeMap(np.array([0.0, 4.0, 8.0]), np.array([0.0, 8.0, 10.0]))
    target = Segmentation([0], [8])
    features, warped = Timeline.of("v0", target).rendered(time, told({"v0": target}).__getitem__)
    assert warped == Segmentation([0], [10])
    slow, fast = [0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3.25], [4.5, 6.5]
    np.testing.assert_allclose(features[:, FRAME], [*slow, *fast])


@settings(max_examples=30, deadline=None)
@given(segmentations, seeds, st.floats(1, 4), st.floats(1, 4))
def test_warped_time_is_monotone_and_keeps_the_transcript(
    target: Segmentation, seed: int, speed: float, warp: float
) -> None:
    time = TimeMap.drawn(target.n_frames, np.random.default_rng(seed), speed=speed, warp=warp)
    features, warped = Timeline.of("v0", target).rendered(time, told({"v0": target}).__getitem__)
    assert warped.transcript.tolist() == target.transcript.tolist()
    assert len(features) == warped.n_frames
    assert (features[:, ACTION] == warped.labels).all()
    assert (np.diff(features[:, FRAME]) >= 0).all()
    slack = len(target) + 1
    assert warped.n_frames <= target.n_frames * speed * warp + slack
    assert warped.n_frames >= target.n_frames / (speed * warp) - slack


@settings(max_examples=30, deadline=None)
@given(segmentations, seeds)
def test_time_at_its_own_pace_changes_no_bit(target: Segmentation, seed: int) -> None:
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(target.n_frames, 4)).astype(np.float32)
    features, same = Timeline.of("v", target).rendered(
        plain(target.n_frames), {"v": values}.__getitem__
    )
    assert same == target
    np.testing.assert_array_equal(features, values)


def test_speeds_are_log_uniform() -> None:
    generator = np.random.default_rng(0)
    drawn = [TimeMap.drawn(1000, generator, speed=2, warp=1).after[-1] for _ in range(2000)]
    quarters = np.quantile(np.log2(np.array(drawn) / 1000), [0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(quarters, [-1, -0.5, 0, 0.5, 1], atol=0.06)


def test_interpolation_is_linear() -> None:
    found = interpolated(np.array([[0, 8], [4, 0]], np.float32), np.array([0, 0.25, 1]))
    assert found.tolist() == [[0, 8], [1, 6], [4, 0]]


@settings(max_examples=30, deadline=None)
@given(pools, seeds, st.booleans())
def test_every_frame_of_a_recombined_sample_is_one_of_its_class(
    targets: dict[str, Segmentation], seed: int, is_reordered: bool
) -> None:
    """Planted: features say which action, video and frame they are."""
    pool, features = SegmentPool.of(targets), told(targets)
    timeline = pool.recombined("v0", np.random.default_rng(seed), reordering=float(is_reordered))
    target = timeline.segmentation
    rendered, same = timeline.rendered(plain(target.n_frames), features.__getitem__, seam=0)
    assert same == target
    assert (rendered[:, ACTION] == target.labels).all()
    names = list(targets)
    for index, segment in enumerate(target.segments):
        rows = rendered[segment.start : segment.end]
        source = targets[timeline.samples[index]]
        assert set(rows[:, VIDEO].tolist()) == {names.index(timeline.samples[index])}
        frames = rows[:, FRAME]
        piece = int(np.searchsorted(source.ends, frames[0], side="right"))
        assert source.starts[piece] <= frames.min()
        assert frames.max() <= source.ends[piece] - 1
        assert (np.diff(frames) >= 0).all()
        length = source.durations[piece]
        assert length / LARGEST_STRETCH <= len(rows) <= length * LARGEST_STRETCH


@settings(max_examples=30, deadline=None)
@given(pools, seeds)
def test_a_recombined_sample_has_its_own_transcript_and_lengths_of_its_classes(
    targets: dict[str, Segmentation], seed: int
) -> None:
    target = SegmentPool.of(targets).recombined("v0", np.random.default_rng(seed)).segmentation
    assert target.transcript.tolist() == targets["v0"].transcript.tolist()
    lengths = {action: set() for action in range(5)}
    for one in targets.values():
        for action, length in zip(one.transcript.tolist(), one.durations.tolist(), strict=True):
            lengths[action] |= {length, -(-length // LARGEST_STRETCH), length * LARGEST_STRETCH}
    for action, length in zip(target.transcript.tolist(), target.durations.tolist(), strict=True):
        assert length in lengths[action]


@settings(max_examples=30, deadline=None)
@given(pools, seeds)
def test_a_new_transcript_is_a_chain_of_pairs_that_videos_show(
    targets: dict[str, Segmentation], seed: int
) -> None:
    transcripts = [one.transcript.tolist() for one in targets.values()]
    pairs = {pair for one in transcripts for pair in pairwise(one)}
    drawn = SegmentPool.of(targets).recombined("v0", np.random.default_rng(seed), reordering=1.0)
    chain = drawn.segmentation.transcript.tolist()
    assert chain[0] in {one[0] for one in transcripts}
    assert set(pairwise(chain)) <= pairs
    assert len(chain) <= max(map(len, transcripts))
    longest = max(one.n_frames for one in targets.values())
    assert drawn.segmentation.n_frames <= longest or len(chain) == 1


def test_pairs_are_drawn_as_often_as_they_occur() -> None:
    """After 0 comes 1 in three videos of four, and nothing after that."""
    targets = {f"v{i}": Segmentation([0, 1 if i else 2], [5, 5]) for i in range(4)}
    pool, generator = SegmentPool.of(targets), np.random.default_rng(0)
    seconds = [
        int(pool.recombined("v0", generator, reordering=1.0).segmentation.transcript[1])
        for _ in range(400)
    ]
    assert 270 <= seconds.count(1) <= 330


def test_pieces_come_from_every_video() -> None:
    targets = {f"v{i}": Segmentation([0, 1], [5 + i, 9]) for i in range(3)}
    pool, generator = SegmentPool.of(targets), np.random.default_rng(0)
    drawn = [pool.recombined("v0", generator).samples for _ in range(50)]
    assert {first for first, _ in drawn} == {second for _, second in drawn} == set(targets)


def test_seams_are_blended_and_nothing_else() -> None:
    """Planted: 0 on one side of the seam, 1 on the other."""
    features = {"a": np.zeros((20, 1), np.float32), "b": np.ones((20, 1), np.float32)}
    target = Segmentation([0, 1], [20, 20])
    start = np.zeros(2, np.int64)
    timeline = Timeline(target, ("a", "b"), start, target.durations)
    (blended,) = timeline.rendered(plain(40), features.__getitem__)[0].T
    rising = blended[20 - SEAM : 20 + SEAM]
    assert (np.diff(rising) > 0).all()
    assert rising[SEAM - 1] < 0.5 < rising[SEAM]
    assert (blended[: 20 - SEAM] == 0).all()
    assert (blended[20 + SEAM :] == 1).all()
    np.testing.assert_allclose(blended + blended[::-1], 1)
    goes_on = Timeline(target, ("a", "a"), np.array([0, 20]), target.durations)
    assert goes_on.seams.tolist() == []
    assert timeline.seams.tolist() == [1]


@settings(max_examples=30, deadline=None)
@given(pools, seeds)
def test_a_blended_frame_is_mostly_its_own(targets: dict[str, Segmentation], seed: int) -> None:
    """One column a class, 1 where the frame is of it."""
    one_hot = {name: np.eye(5, dtype=np.float32)[one.labels] for name, one in targets.items()}
    timeline = SegmentPool.of(targets).recombined("v0", np.random.default_rng(seed))
    target = timeline.segmentation
    features, _ = timeline.rendered(plain(target.n_frames), one_hot.__getitem__)
    np.testing.assert_allclose(features.sum(1), 1, rtol=1e-5)
    own = features[np.arange(target.n_frames), target.labels]
    assert (own > 0.5).all()
    far = np.ones(target.n_frames, bool)
    for cut in target.starts[1:]:
        far[max(0, cut - SEAM) : cut + SEAM] = False
    np.testing.assert_allclose(own[far], 1)


@pytest.mark.parametrize("order", ["C", "F"])
def test_any_memory_order_is_read(order: str) -> None:
    values = np.asarray(np.arange(12.0).reshape(6, 2), np.float32, order=order)
    target = Segmentation([0, 1], [2, 4])
    features, _ = Timeline.of("v", target).rendered(plain(6), {"v": values}.__getitem__)
    np.testing.assert_array_equal(features, values)
