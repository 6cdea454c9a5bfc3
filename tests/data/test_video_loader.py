import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from uvast.data import Batch, Dataset, VideoLoader
from uvast.errors import InputError
from uvast.segments import Segmentation


@pytest.fixture(scope="module")
def dataset(generated: Path) -> Dataset:
    return Dataset.open(generated)


@pytest.fixture(scope="module")
def segmentations(dataset: Dataset) -> dict[str, Segmentation]:
    return {name: dataset.source_segmentation(name) for name in dataset.names}


def _same(first: list[Batch], second: list[Batch]) -> bool:
    return len(first) == len(second) and all(
        one.names == other.names
        and torch.equal(one.features, other.features)
        and torch.equal(one.targets.labels, other.targets.labels)
        for one, other in zip(first, second, strict=True)
    )


@pytest.mark.parametrize("bucketing", [False, True])
@pytest.mark.parametrize("batch_size", [1, 5])
def test_every_video_once_an_epoch_and_another_order_every_epoch(
    dataset: Dataset, segmentations: dict, batch_size: int, bucketing: bool
) -> None:
    loader = VideoLoader(
        dataset,
        dataset.names,
        segmentations,
        batch_size=batch_size,
        shuffle=True,
        bucketing=bucketing,
    )
    orders = [[name for names in loader.plan(epoch) for name in names] for epoch in range(3)]
    assert [sorted(order) for order in orders] == [list(dataset.names)] * 3
    assert orders[0] != orders[1] != orders[2]
    assert len(loader.plan(0)) == len(loader) == -(-12 // batch_size)
    assert [batch.names for batch in loader.epoch(1)] == loader.plan(1)


@pytest.mark.parametrize("batch_size", [1, 3])
def test_batches_are_the_same_with_any_number_of_workers(
    dataset: Dataset, segmentations: dict, batch_size: int
) -> None:
    epochs = [
        list(
            VideoLoader(
                dataset,
                dataset.names,
                segmentations,
                batch_size=batch_size,
                shuffle=True,
                seed=5,
                workers=workers,
                frame_dropping=0.5,
                chunk_fraction=0.2,
            ).epoch(3)
        )
        for workers in (0, 2, 2)
    ]
    assert _same(epochs[0], epochs[1])
    assert _same(epochs[1], epochs[2])


def test_the_seed_decides(dataset: Dataset, segmentations: dict) -> None:
    plans = [
        VideoLoader(dataset, dataset.names, segmentations, shuffle=True, seed=seed).plan(0)
        for seed in (1, 1, 2)
    ]
    assert plans[0] == plans[1] != plans[2]


def test_without_shuffling_names_keep_their_order(dataset: Dataset) -> None:
    loader = VideoLoader(dataset, dataset.names, batch_size=5)
    batches = list(loader)
    assert [name for batch in batches for name in batch.names] == list(dataset.names)
    assert [len(batch) for batch in batches] == [5, 5, 2]
    assert all(batch.targets is None for batch in batches)


def test_bucketing_saves_padding(dataset: Dataset, segmentations: dict) -> None:
    padded = {
        bucketing: sum(
            int((~batch.mask).sum())
            for batch in VideoLoader(
                dataset,
                dataset.names,
                segmentations,
                batch_size=4,
                shuffle=True,
                bucketing=bucketing,
            )
        )
        for bucketing in (False, True)
    }
    assert padded[True] < padded[False] / 2


@pytest.mark.parametrize("n_ranks", [2, 5])
def test_ranks_share_one_plan(dataset: Dataset, segmentations: dict, n_ranks: int) -> None:
    ranks = [
        VideoLoader(
            dataset,
            dataset.names,
            segmentations,
            batch_size=1,
            shuffle=True,
            rank=rank,
            n_ranks=n_ranks,
        )
        for rank in range(n_ranks)
    ]
    plan = ranks[0].plan(4)
    for rank, loader in enumerate(ranks):
        assert loader.plan(4) == plan
        assert [batch.names for batch in loader.epoch(4)] == plan[rank::n_ranks]
        assert len(loader) == 12


def test_a_rank_drops_the_frames_that_one_process_would(
    dataset: Dataset, segmentations: dict
) -> None:
    alone, second = (
        VideoLoader(
            dataset, dataset.names, segmentations, frame_dropping=1.0, rank=rank, n_ranks=n_ranks
        )
        for rank, n_ranks in ((0, 1), (1, 2))
    )
    assert _same(list(alone.epoch(0))[1::2], list(second.epoch(0)))


def test_dropped_frames_change_with_the_epoch(dataset: Dataset, segmentations: dict) -> None:
    loader = VideoLoader(dataset, dataset.names[:1], segmentations, frame_dropping=1.0)
    whole = segmentations[dataset.names[0]].n_frames
    lengths = {int(next(loader.epoch(epoch)).lengths) for epoch in range(8)}
    assert len(lengths) > 1
    assert max(lengths) < whole
    off = VideoLoader(dataset, dataset.names[:1], segmentations)
    assert {int(next(off.epoch(epoch)).lengths) for epoch in range(8)} == {whole}


def test_labels_are_never_opened(generated_copy: Path, segmentations: dict) -> None:
    for path in (generated_copy / "groundTruth").iterdir():
        path.unlink()
    dataset = Dataset.open(generated_copy)
    assert len(list(VideoLoader(dataset, dataset.names, segmentations))) == 12


def test_features_longer_than_their_segmentation_lose_their_end(make_dataset) -> None:
    dataset = Dataset.open(make_dataset({"v": "a" * 100, "w": "a" * 50}))
    batch = next(iter(VideoLoader(dataset, ("v",), {"v": Segmentation([0], [99])})))
    assert batch.lengths.tolist() == [99]
    with pytest.raises(InputError, match="video v: a segmentation of 90 frames for 100 frames"):
        next(iter(VideoLoader(dataset, ("v",), {"v": Segmentation([0], [90])})))


@pytest.mark.parametrize(("rate", "n_frames", "n_labels"), [(2, 51, 50), (10, 401, 400)])
def test_what_is_trimmed_at_the_source_is_trimmed_after_sub_sampling(
    make_dataset, rate: int, n_frames: int, n_labels: int
) -> None:
    path = make_dataset({"v": "a" * n_frames, "w": "a" * 50}, spec=f"sampling_rate = {rate}")
    (path / "groundTruth" / "v.txt").write_text("a\n" * n_labels)
    dataset = Dataset.open(path)
    truth = Segmentation.from_labels(dataset.source_labels("v")[::rate])
    batch = next(iter(VideoLoader(dataset, ("v",), {"v": truth})))
    assert batch.lengths.tolist() == [n_labels // rate]
    shorter = Segmentation([0], [truth.n_frames - 2])
    with pytest.raises(InputError, match="give one at the model's rate, as long as the features"):
        next(iter(VideoLoader(dataset, ("v",), {"v": shorter})))


def _is_mapped(tensor: torch.Tensor) -> bool:
    address = tensor.data_ptr()
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if start <= address < end:
            return line.endswith(".npy")
    raise AssertionError(f"{address} is nowhere")


@pytest.mark.parametrize("workers", [0, 1])
def test_workers_hand_over_batches_that_are_read(dataset: Dataset, workers: int) -> None:
    features = next(iter(VideoLoader(dataset, dataset.names, workers=workers))).features
    assert _is_mapped(features) == (workers == 0)
    np.testing.assert_array_equal(features[0], dataset.video(dataset.names[0]).features)


@pytest.mark.parametrize("options", [{"batch_size": 3}, {"frame_dropping": 1.0}])
def test_workers_copy_nothing_twice(
    dataset: Dataset, segmentations: dict, monkeypatch: pytest.MonkeyPatch, options: dict
) -> None:
    def clone(_: torch.Tensor) -> torch.Tensor:
        raise AssertionError("padded or dropped frames are a copy already")

    monkeypatch.setattr(torch.Tensor, "clone", clone)
    batches = list(VideoLoader(dataset, dataset.names, segmentations, workers=1, **options))
    assert sum(len(batch) for batch in batches) == 12


def test_an_error_in_a_worker_reaches_the_caller(generated_copy: Path) -> None:
    dataset = Dataset.open(generated_copy)
    dataset.features_path(dataset.names[5]).write_bytes(b"junk")
    with pytest.raises(Exception, match="cannot be read as a NumPy array"):
        list(VideoLoader(dataset, dataset.names, workers=2))


def test_an_epoch_that_is_left_early_leaves_no_thread(dataset: Dataset) -> None:
    def loaders() -> list[str]:
        return [one.name for one in threading.enumerate() if one.name.startswith("uvast-loader")]

    epoch = VideoLoader(dataset, dataset.names, workers=2).epoch(0)
    next(epoch)
    assert loaders()
    epoch.close()
    assert not loaders()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"names": ()}, "no videos to load; check the split"),
        ({"batch_size": 0}, "a batch size of 0; choose at least 1"),
        ({"workers": -1}, "-1 workers; choose 0 or more"),
        ({"frame_dropping": 0.5}, "frames cannot be dropped without segmentations"),
        (
            {"frame_dropping": 1.5},
            "a frame dropping probability of 1.5; choose one from 0 to 1",
        ),
        ({"rank": 2, "n_ranks": 2}, "rank 2 of 2; count ranks from 0"),
        ({"rank": -1}, "rank -1 of 1; count ranks from 0"),
    ],
)
def test_impossible_arguments(dataset: Dataset, arguments: dict, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        VideoLoader(**{"dataset": dataset, "names": dataset.names, **arguments})
    assert str(caught.value) == sentence


def test_a_video_without_segmentation(dataset: Dataset) -> None:
    with pytest.raises(InputError) as caught:
        VideoLoader(dataset, dataset.names, {})
    assert str(caught.value) == f"no segmentation for video {dataset.names[0]}"
