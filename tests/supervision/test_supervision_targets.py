"""What models learn: full labels, or pseudo-segmentations that never see them."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from uvast.data import Dataset, DatasetSpec, Timestamps
from uvast.errors import InputError, TimestampError
from uvast.segments import Segmentation, midpoint_durations
from uvast.supervision import (
    JoinedFeatures,
    PseudoLabelOptions,
    class_cuts,
    constrained_k_medoids,
    energy_durations,
    fit_class_model,
    full_segmentations,
    pseudo_segmentations,
)

METHODS = ("k-medoids", "class-model", "midpoint", "energy", "unconstrained")


def overlap(found, true):
    """The part of frames with the right label."""
    return np.mean(
        np.concatenate([found[name].labels == true[name].labels for name in true])
    ).item()


def test_full_labels_are_at_the_model_rate(tiny_path):
    dataset = Dataset.open(tiny_path, spec=DatasetSpec(sampling_rate=3))
    found = full_segmentations(dataset, dataset.names)
    assert list(found) == list(dataset.names)
    for name, one in found.items():
        assert np.array_equal(one.labels, dataset.source_labels(name)[::3])
        assert one.n_frames == dataset.video(name).n_frames


@pytest.mark.parametrize("method", METHODS)
def test_no_label_file_is_opened(tiny, tiny_path, tmp_path, method):
    timestamps = tiny.timestamps()
    expected = pseudo_segmentations(tiny, tiny.names, timestamps, PseudoLabelOptions(method))
    bare = tmp_path / "bare"
    shutil.copytree(tiny_path, bare, ignore=shutil.ignore_patterns("groundTruth"))
    dataset = Dataset.open(bare)
    found = pseudo_segmentations(dataset, tiny.names, timestamps, PseudoLabelOptions(method))
    assert found == expected
    for name, one in found.items():
        assert one.n_frames == tiny.video(name, labels=False).n_frames
        if method != "unconstrained":
            labels = one.labels[timestamps[name].frames]
            assert labels.tolist() == timestamps[name].transcript.tolist()


def test_each_method_is_what_it_says(tiny):
    timestamps = tiny.timestamps()
    name = tiny.names[0]
    entry, features = timestamps[name], tiny.video(name, labels=False).features

    def found(**options):
        return pseudo_segmentations(tiny, [name], timestamps, PseudoLabelOptions(**options))[name]

    midpoint = midpoint_durations(entry.frames, len(features))
    assert found(method="midpoint") == Segmentation(entry.transcript, midpoint).merged()
    medoids = constrained_k_medoids(features, entry.frames, "cosine", 0.5).durations
    by_medoids = found(method="k-medoids", metric="cosine", prior=0.5)
    assert by_medoids == Segmentation(entry.transcript, medoids).merged()
    by_energy = energy_durations(features, entry.frames, "cosine")
    expected = Segmentation(entry.transcript, by_energy).merged()
    assert found(method="energy", metric="cosine") == expected


def test_other_features_can_be_given(tiny):
    timestamps = tiny.timestamps()
    truth = full_segmentations(tiny, tiny.names)
    telling = {name: np.eye(len(tiny.vocabulary))[one.labels] for name, one in truth.items()}
    found = pseudo_segmentations(
        tiny, tiny.names, timestamps, PseudoLabelOptions("k-medoids", prior=0.0), features=telling
    )
    assert found == truth


def test_neighbouring_timestamps_of_one_label_become_one_segment(tiny):
    name = tiny.names[0]
    n_frames = tiny.video(name, labels=False).n_frames
    entry = Timestamps(np.array([3, 9, 20]), np.array([1, 1, 2]))
    for method in METHODS[:4]:
        found = pseudo_segmentations(tiny, [name], {name: entry}, PseudoLabelOptions(method))
        assert found[name].transcript.tolist() == [1, 2]
        assert found[name].n_frames == n_frames


def test_a_video_without_timestamps_is_an_error_that_names_it(tiny):
    with pytest.raises(TimestampError, match=tiny.names[1]):
        pseudo_segmentations(
            tiny,
            tiny.names[:2],
            {tiny.names[0]: tiny.timestamps()[tiny.names[0]]},
            PseudoLabelOptions(),
        )


def test_midpoints_and_single_clicks_need_no_features(tiny, tiny_path, tmp_path):
    bare = tmp_path / "bare"
    shutil.copytree(tiny_path, bare, ignore=shutil.ignore_patterns("features"))
    dataset, timestamps = Dataset.open(bare), tiny.timestamps()
    options = PseudoLabelOptions("midpoint")
    found = pseudo_segmentations(dataset, tiny.names, timestamps, options)
    assert found == pseudo_segmentations(tiny, tiny.names, timestamps, options)
    name = tiny.names[0]
    single = {name: Timestamps(np.array([5]), np.array([1]))}
    (one,) = pseudo_segmentations(dataset, [name], single, PseudoLabelOptions("k-medoids")).values()
    assert one == Segmentation([1], [tiny.video(name).n_frames])


@pytest.mark.parametrize("method", METHODS)
def test_progress_reaches_its_end_or_ends_early(tiny, method):
    told = []
    pseudo_segmentations(
        tiny,
        tiny.names,
        tiny.timestamps(),
        PseudoLabelOptions(method),
        progress=lambda *both: told.append(both),
    )
    done, most = zip(*told, strict=True)
    assert done == tuple(range(1, len(told) + 1))
    assert set(most) == {len(tiny.names) * (14 if method == "class-model" else 1)}


def test_unknown_choices_are_errors():
    with pytest.raises(InputError, match="k-means"):
        PseudoLabelOptions("k-means")
    with pytest.raises(InputError, match="manhattan"):
        PseudoLabelOptions(metric="manhattan")


def test_joined_features_weigh_both_parts_alike(tiny):
    name = tiny.names[0]
    inputs = tiny.video(name, labels=False).features
    others = {name: np.full((len(inputs), 2), 300.0)}
    joined = JoinedFeatures(tiny, others)
    assert list(joined) == [name]
    assert len(joined) == 1
    found = joined[name]
    assert found.shape == (len(inputs), inputs.shape[1] + 2)
    for part in (found[:, :-2], found[:, -2:]):
        assert np.linalg.norm(part, axis=1).mean() == pytest.approx(1)


class TestClassModel:
    """Class models shared by videos."""

    @staticmethod
    def planted(noise, seed=0):
        """Videos that share class means; timestamps anywhere in their segments."""
        generator = np.random.default_rng(seed)
        means = generator.normal(size=(4, 10))
        features, timestamps, truth = {}, {}, {}
        for video in map(str, range(8)):
            transcript = (generator.integers(0, 4) + np.cumsum(generator.integers(1, 4, 12))) % 4
            one = Segmentation(transcript, generator.integers(15, 60, 12))
            truth[video] = one
            features[video] = means[one.labels] + noise * generator.normal(size=(one.n_frames, 10))
            timestamps[video] = Timestamps(one.sampled_timestamps(generator), transcript)
        return features, timestamps, truth

    def test_it_finds_planted_cuts_within_its_window(self):
        features, timestamps, truth = self.planted(noise=0.05)
        found = fit_class_model(features.__getitem__, timestamps, prior=0.0)[0]
        for video, one in truth.items():
            assert np.abs(np.cumsum(found[video]) - one.ends).max() <= 3

    def test_sharing_beats_single_videos_in_noise(self):
        features, timestamps, truth = self.planted(noise=3.0)
        shared = fit_class_model(features.__getitem__, timestamps)[0]
        found = {
            video: Segmentation(timestamps[video].transcript, shared[video]) for video in truth
        }
        alone = {
            video: Segmentation(
                entry.transcript,
                constrained_k_medoids(features[video], entry.frames, prior=0.25).durations,
            )
            for video, entry in timestamps.items()
        }
        assert overlap(found, truth) > overlap(alone, truth) + 0.05

    @pytest.mark.parametrize("metric", ["euclidean", "cosine"])
    def test_scale_and_offset_of_features_do_not_matter(self, metric):
        features, timestamps, _ = self.planted(noise=0.5)
        moved = {
            video: 1000 * values + (7 if metric == "euclidean" else 0)
            for video, values in features.items()
        }
        first = fit_class_model(features.__getitem__, timestamps, metric=metric)[0]
        second = fit_class_model(moved.__getitem__, timestamps, metric=metric)[0]
        for video in features:
            assert first[video].tolist() == second[video].tolist()

    def test_constant_features_are_cut_half_way_between_classes_of_one_length(self):
        frames = np.array([2, 7, 12])
        entry = Timestamps(frames, np.array([0, 1, 0]))
        found = fit_class_model(lambda _: np.full((15, 3), 0.1), {"a": entry})[0]
        assert found["a"].tolist() == midpoint_durations(frames, 15).tolist()

    def test_one_segment_and_adjacent_timestamps(self):
        features = np.random.default_rng(0).normal(size=(9, 3))
        entries = {
            "a": Timestamps(np.array([4]), np.array([2])),
            "b": Timestamps(np.array([0, 3, 4, 8]), np.array([0, 1, 0, 2])),
        }
        found = fit_class_model(lambda _: features, entries)[0]
        assert found["a"].tolist() == [9]
        ends = np.cumsum(found["b"])
        assert np.searchsorted(ends, [0, 3, 4, 8], side="right").tolist() == [0, 1, 2, 3]

    def test_long_segments_are_thinned_out_for_the_start_only(self, monkeypatch):
        seen = []

        def counted(features, *arguments):
            seen.append(len(features))
            return constrained_k_medoids(features, *arguments)

        monkeypatch.setattr(class_cuts, "constrained_k_medoids", counted)
        monkeypatch.setattr(class_cuts, "_LONG_GAP", 5)
        features, timestamps, truth = self.planted(noise=0.05)
        first = fit_class_model(features.__getitem__, timestamps, prior=0.0, n_rounds=0)[0]
        for video, entry in timestamps.items():
            ends = np.cumsum(first[video])
            assert ends[-1] == len(features[video])
            inside = np.searchsorted(ends, entry.frames, side="right")
            assert inside.tolist() == list(range(len(entry)))
        assert sum(seen) < sum(map(len, features.values())) / 2
        found = fit_class_model(features.__getitem__, timestamps, prior=0.0)[0]
        for video, one in truth.items():
            assert np.abs(np.cumsum(found[video]) - one.ends).max() <= 3

    def test_no_click_keeps_a_long_gap_from_being_thinned_out(self, monkeypatch):
        seen = []

        def counted(features, *arguments):
            seen.append(len(features))
            return constrained_k_medoids(features, *arguments)

        monkeypatch.setattr(class_cuts, "constrained_k_medoids", counted)
        frames = np.array([0, 5000, 5001, 5100, 15000])
        entry = Timestamps(frames, np.array([0, 1, 2, 1, 0]))
        features = np.random.default_rng(0).normal(size=(20_000, 2))
        found = fit_class_model(lambda _: features, {"a": entry}, n_rounds=0)[0]["a"]
        # every 3rd, 1st, 1st, 5th and 3rd frame of what lies between
        assert seen == [1667 + 1 + 99 + 1980 + 1667]
        assert found.sum() == 20_000
        inside = np.searchsorted(np.cumsum(found), frames, side="right")
        assert inside.tolist() == list(range(5))

    def test_progress_counts_every_reading_of_a_video(self):
        features, timestamps, _ = self.planted(noise=0.5)
        told = []
        fit_class_model(
            features.__getitem__, timestamps, n_rounds=2, progress=lambda *both: told.append(both)
        )
        most = 8 * (3 + class_cuts.N_OFFSET_ROUNDS)
        assert told == [(done, most) for done in range(1, len(told) + 1)]
        assert 24 <= len(told) <= most
