import numpy as np
import pytest
import torch

from uvast.data import PADDING, Video, collate
from uvast.errors import InputError
from uvast.segments import Segmentation


def _video(name: str, n_frames: int, *, time_first: bool = True, n_features: int = 3) -> Video:
    values = np.random.default_rng(n_frames).normal(size=(n_frames, n_features)).astype(np.float32)
    features = values if time_first else np.ascontiguousarray(values.T).T
    return Video(name, features, None, n_frames)


@pytest.mark.parametrize("time_first", [True, False])
def test_videos_are_padded_and_masked(time_first: bool) -> None:
    videos = [_video(str(n), n, time_first=time_first) for n in (4, 1, 6)]
    batch = collate(videos)
    assert batch.names == ("4", "1", "6")
    assert len(batch) == 3
    assert batch.features.shape == (3, 6, 3)
    assert batch.lengths.tolist() == [4, 1, 6]
    assert batch.mask.sum(1).tolist() == [4, 1, 6]
    assert batch.targets is None
    for row, mask, video in zip(batch.features, batch.mask, videos, strict=True):
        np.testing.assert_array_equal(row[mask], video.features)
        assert mask[: video.n_frames].all()
        assert not row[~mask].any()


def test_targets() -> None:
    videos = [_video("a", 5), _video("b", 2)]
    batch = collate(videos, [Segmentation([2, 0, 2], [1, 3, 1]), Segmentation([1], [2])])
    targets = batch.targets
    pad = PADDING
    assert targets.labels.tolist() == [[2, 0, 0, 0, 2], [1, 1, pad, pad, pad]]
    assert targets.transcript.tolist() == [[2, 0, 2], [1, pad, pad]]
    assert targets.n_segments.tolist() == [3, 1]
    assert targets.segment_of_frame.tolist() == [[0, 1, 1, 1, 2], [0, 0, pad, pad, pad]]
    torch.testing.assert_close(targets.fractions, torch.tensor([[0.2, 0.6, 0.2], [1.0, 0.0, 0.0]]))
    assert targets.labels.dtype == torch.int64
    assert targets.fractions.dtype == torch.float32


def test_long_segments_become_chunks() -> None:
    batch = collate([_video("a", 10)], [Segmentation([1, 0], [8, 2])], chunk_fraction=0.4)
    assert batch.targets.transcript.tolist() == [[1, 1, 0]]
    assert batch.targets.labels.tolist() == [[1] * 8 + [0] * 2]
    assert batch.targets.segment_of_frame.tolist() == [[0] * 4 + [1] * 4 + [2] * 2]


def test_a_batch_of_one_is_a_view() -> None:
    video = _video("a", 7)
    batch = collate([video])
    assert batch.features.data_ptr() == video.features.ctypes.data
    assert batch.mask.all()


def test_read_only_features_are_copied() -> None:
    video = _video("a", 7)
    video.features.flags.writeable = False
    batch = collate([video])
    batch.features.add_(1)
    assert not np.shares_memory(batch.features.numpy(), video.features)


def test_batches_move_as_a_whole() -> None:
    batch = collate([_video("a", 3)], [Segmentation([1], [3])])
    moved = batch.to("meta")
    assert moved.names == ("a",)
    targets = [value for value in vars(moved.targets).values() if value is not None]
    tensors = [moved.features, moved.mask, moved.lengths, *targets]
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert collate([_video("a", 3)]).to("meta").targets is None


@pytest.mark.parametrize(
    ("videos", "segmentations", "sentence"),
    [
        ([], None, "a batch without videos"),
        (
            [_video("a", 3), _video("b", 3, n_features=2)],
            None,
            "videos of feature widths 3, 2 in one batch",
        ),
        ([_video("a", 3)], [], "1 videos with 0 segmentations"),
        (
            [_video("a", 3)],
            [Segmentation([0], [4])],
            "video a: a segmentation of 4 frames for 3 frames; "
            "give one at the model's rate, as long as the features",
        ),
    ],
)
def test_what_is_no_batch(videos: list, segmentations: list | None, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        collate(videos, segmentations)
    assert str(caught.value) == sentence
