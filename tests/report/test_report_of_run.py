"""Runs to reports."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import uvast
from uvast.config import Config
from uvast.data import Dataset
from uvast.errors import ConfigError, UvastError
from uvast.report import Report
from uvast.report.of_run import decodings_to_show, report_run
from uvast.report.pseudo_labels import compare_pseudo_labels
from uvast.training import train


@pytest.fixture(scope="module")
def runs(
    tiny_path: Path, small_config: Config, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Both stages on timestamps; no cross-attention loss; frame-wise; regressed durations."""
    folder = tmp_path_factory.mktemp("runs")
    short = small_config.replaced(**{"train.epochs": 2, "train.alignment_epochs": 1})
    kinds = {
        "clicks": {"supervision.kind": "timestamps"},
        "plain": {"loss.cross_attention": False, "train.alignment_epochs": 0},
        "ms-tcn": {
            "model.kind": "ms-tcn",
            "train.alignment_epochs": 0,
            "decode.transcript": "frames",
            "decode.durations": "none",
        },
        "explicit": {
            "model.explicit_durations": True,
            "train.alignment_epochs": 0,
            "decode.durations": "explicit",
            "decode.beam_width": 3,
        },
    }
    return {
        name: train(tiny_path, folder / name, config=short.replaced(**changes), split=1).path
        for name, changes in kinds.items()
    }


@pytest.fixture(scope="module")
def full(runs: dict[str, Path]) -> Report:
    return report_run(runs["clicks"], compare_with=runs["plain"])


def test_every_decoding_is_scored_on_the_test_side(full: Report, tiny: Dataset) -> None:
    assert full.comparison is not None
    assert full.comparison.decodings == (
        *("frames", "alignment", "viterbi", "fifa", "semi-markov", "best"),
    )
    assert full.comparison.decodings[full.comparison.main] == "viterbi"  # the config's own
    assert [video.name for video in full.comparison.videos] == sorted(tiny.side(1, "test"))
    for video in full.comparison.videos:
        assert video.true == tiny.source_segmentation(video.name)
    assert full.notes == ()
    assert list(full.files) == ["config.toml", "run.json"]
    assert {"Stage 1: cross attention", "Stage 2: alignment"} <= {c.title for c in full.charts}


def test_the_models_own_decoding_is_shown_and_the_main_one(
    runs: dict[str, Path], tiny_path: Path
) -> None:
    made = report_run(runs["explicit"]).comparison
    assert made is not None
    assert made.decodings == (
        *("frames", "explicit", "viterbi", "fifa", "semi-markov", "best", "as configured"),
    )
    assert made.decodings[made.main] == "as configured"
    expected = uvast.segment(runs["explicit"], tiny_path, split=1)
    for video in made.videos:
        assert video.tracks[made.main].segmentation == expected[video.name].segmentation


@pytest.mark.parametrize(
    ("run", "own", "added"),
    [
        ("plain", {"length_model": "gamma"}, True),  # as in preset demo
        ("plain", {"transcript": "best", "beam_width": 3}, True),
        ("plain", {"transcript": "best"}, False),
        ("plain", {"transcript": "semi-markov", "durations": "none"}, False),
        ("plain", {"durations": "none"}, False),  # a bare transcript has no timeline
        ("plain", {"durations": "alignment"}, False),  # its stage 2 is still to come
        ("clicks", {"durations": "alignment"}, False),
        ("ms-tcn", {"durations": "fifa", "fifa_optimiser": "fast"}, True),
        ("ms-tcn", {}, False),
    ],
)
def test_only_a_decoding_that_is_not_listed_is_added(
    runs: dict[str, Path], run: str, own: dict[str, object], added: bool
) -> None:
    loaded = uvast.load(runs[run])
    changes = {f"decode.{name}": value for name, value in own.items()}
    segmenter = replace(loaded, config=loaded.config.replaced(**changes))
    found = decodings_to_show(segmenter)
    assert ("as configured" in found) == added
    if added:
        assert segmenter.options(**found["as configured"]) == segmenter.options()


def test_a_decoding_is_what_the_model_predicts(
    full: Report, runs: dict[str, Path], tiny_path
) -> None:
    expected = uvast.segment(runs["clicks"], tiny_path, split=1, transcript="semi-markov")
    assert full.comparison is not None
    index = full.comparison.decodings.index("semi-markov")
    for video in full.comparison.videos:
        track = video.tracks[index]
        np.testing.assert_array_equal(track.confidences, expected[video.name].confidences)
        assert track.segmentation == expected[video.name].segmentation


def test_attention_maps_of_both_runs_have_a_row_a_segment(full: Report, tiny: Dataset) -> None:
    attention = full.attention
    assert attention is not None
    assert list(attention.maps) == [
        "Target: the frames of each segment",
        "clicks: with the cross-attention loss",
        "plain: without the cross-attention loss",
    ]
    truth = tiny.source_segmentation(attention.video)
    assert attention.true == truth  # no chunks with timestamps
    target, *_ = attention.maps.values()
    assert target.argmax(0).tolist() == truth.segment_of_frame.tolist()
    for weights in attention.maps.values():
        assert weights.shape == (len(truth), truth.n_frames)
        np.testing.assert_allclose(weights.max(1), 1)


def test_a_dataset_of_another_rate_is_seen_at_the_models(
    runs: dict[str, Path], tiny: Dataset, tmp_path: Path
) -> None:
    for part in ("features", "groundTruth", "splits", "mapping.txt"):
        (tmp_path / part).symlink_to(tiny.path / part)
    (tmp_path / "dataset.toml").write_text("sampling_rate = 2\n")
    options = {"only": ["frames"], "video": min(tiny.side(1, "test"))}
    own, other = (report_run(runs["plain"], dataset=d, **options) for d in (tiny.path, tmp_path))
    assert [v.tracks[0].segmentation for v in other.comparison.videos] == [
        v.tracks[0].segmentation for v in own.comparison.videos
    ]
    assert list(other.attention.maps) == list(own.attention.maps)
    for title, expected in own.attention.maps.items():
        np.testing.assert_array_equal(other.attention.maps[title], expected)


def test_attention_maps_of_folders_of_one_name_are_told_apart(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    places = [tmp_path / part / "uvast-full" / "split1-seed0" for part in ("old", "new")]
    for place in places:
        shutil.copytree(runs["plain"], place)
    made = report_run(places[0], only=["frames"], compare_with=places[1])
    assert made.attention is not None
    assert list(made.attention.maps)[1:] == [
        "old/uvast-full/split1-seed0: without the cross-attention loss",
        "new/uvast-full/split1-seed0: without the cross-attention loss",
    ]
    same = report_run(places[0], only=["frames"], compare_with=places[0])
    assert same.attention is not None
    assert list(same.attention.maps)[1:] == ["split1-seed0: without the cross-attention loss"]


def test_pseudo_labels_of_the_training_side_are_compared(full: Report, tiny: Dataset) -> None:
    found = full.pseudo_labels
    assert found is not None
    assert found.decodings == (
        "midpoint",
        "unconstrained k-medoids",
        "constrained k-medoids",
        "constrained k-medoids + prior 0.25",
        "energy (Li et al.)",
        "class models + prior 0.25",
    )
    assert {video.name for video in found.videos} == set(tiny.side(1, "train"))
    for video in found.videos:
        assert video.clicks is not None
        assert video.true is not None
        # A click lies in a segment of its action, in the truth and in all that keep the order.
        kept = [track.segmentation for i, track in enumerate(video.tracks) if i != 1]
        for one in (video.true, *kept):
            np.testing.assert_array_equal(one.labels[video.clicks.frames], video.clicks.transcript)


def test_pseudo_labels_of_many_videos_are_a_sample(
    tiny: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config().supervision
    monkeypatch.setattr("uvast.report.pseudo_labels.MAX_VIDEOS", 3)
    found = compare_pseudo_labels(tiny, tiny.names, config)
    assert found is not None
    assert [video.name for video in found.videos] == [tiny.names[i] for i in (0, 4, 7)]
    assert compare_pseudo_labels(tiny, [], config) is None


def test_a_frame_wise_model_has_no_attention(runs: dict[str, Path]) -> None:
    told: list[tuple[int, int]] = []
    made = report_run(
        runs["ms-tcn"],
        only=["frames", "semi-markov"],
        progress=lambda done, total: told.append((done, total)),
    )
    assert made.attention is None
    assert made.pseudo_labels is None
    assert made.comparison is not None
    assert made.comparison.decodings == ("frames", "semi-markov")
    total = 2 * len(made.comparison.videos)
    assert told == [(i + 1, total) for i in range(total)]
    with pytest.raises(ConfigError, match="has no cross-attention"):
        report_run(runs["ms-tcn"], only=["frames"], compare_with=runs["plain"])
    with pytest.raises(ConfigError, match="this model has no decoding 'alignment'; choose from"):
        report_run(runs["ms-tcn"], only=["alignment"])


@pytest.mark.parametrize(
    ("run", "arguments", "message"),
    [
        ("plain", {"video": "nobody"}, "has no video nobody"),
        ("plain", {"compare_with": "ms-tcn"}, "has no cross-attention"),
        ("ms-tcn", {"compare_with": "plain"}, "has no cross-attention"),
    ],
)
def test_wrong_arguments_are_told_before_the_work(
    runs: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    run: str,
    arguments: dict[str, str],
    message: str,
) -> None:
    monkeypatch.setattr(
        "uvast.report.of_run.segment_with_decodings", lambda *_, **__: pytest.fail("work")
    )
    if "compare_with" in arguments:
        arguments = {"compare_with": runs[arguments["compare_with"]]}
    with pytest.raises(UvastError, match=message):
        report_run(runs[run], **arguments)


def test_attention_of_a_chosen_video(runs: dict[str, Path], tiny: Dataset) -> None:
    name = min(tiny.side(1, "test"))
    made = report_run(runs["plain"], only=["frames"], video=name)
    assert made.attention is not None
    assert made.attention.video == name
    # Trained on full labels in chunks: a row is a chunk.
    assert made.attention.true == tiny.source_segmentation(name).chunked(0.17)


def test_scores_on_trained_videos_say_so(runs: dict[str, Path], tiny: Dataset) -> None:
    made = report_run(runs["plain"], split=2, only=["frames"])
    seen = set(tiny.side(2, "test")) & set(tiny.side(1, "train"))
    assert seen == set(tiny.side(2, "test"))
    assert made.notes[0].startswith("All videos scored were used in training")
    assert made.comparison is not None
    assert {one.name for one in made.comparison.videos if one.in_training} == seen


def test_a_run_on_clicks_alone_has_timelines_without_scores(
    runs: dict[str, Path], tiny: Dataset, tmp_path: Path
) -> None:
    for part in ("features", "splits", "mapping.txt", "dataset.toml", "timestamps.json"):
        (tmp_path / part).symlink_to(tiny.path / part)
    clicks = tiny.timestamps()
    made = report_run(runs["clicks"], dataset=tmp_path, only=["frames"])
    assert made.comparison is not None
    assert made.comparison.scores == ()
    assert made.attention is None
    assert made.facts["Videos"] == "4 videos, the test side of split 1; none with ground truth"
    for video in made.comparison.videos:
        assert video.true is None
        assert video.clicks == clicks[video.name]
        assert video.tracks[0].confidence is not None
    assert made.pseudo_labels is not None
    assert made.pseudo_labels.scores == ()
    assert {one.name for one in made.pseudo_labels.videos} == set(tiny.side(1, "train"))
    with pytest.raises(UvastError, match="label this video"):
        report_run(runs["clicks"], dataset=tmp_path, only=["frames"], video=min(tiny.names))


def test_some_videos_without_labels_do_not_stop_the_scores_of_the_others(
    runs: dict[str, Path], tiny: Dataset, tmp_path: Path
) -> None:
    for part in ("features", "splits", "mapping.txt", "dataset.toml"):
        (tmp_path / part).symlink_to(tiny.path / part)
    labelled = sorted(tiny.side(1, "test"))[:2]
    (tmp_path / "groundTruth").mkdir()
    for name in labelled:
        shutil.copy(tiny.labels_path(name), tmp_path / "groundTruth")
    made = report_run(runs["plain"], dataset=tmp_path, only=["frames"]).comparison
    whole = report_run(runs["plain"], only=["frames"]).comparison
    assert made is not None
    assert whole is not None
    assert made.scores[0].n_videos == 2
    scores = {one.name: one.scores for one in made.videos if one.scores}
    assert scores == {one.name: one.scores for one in whole.videos if one.name in labelled}


def test_another_dataset_s_classes_are_refused(
    runs: dict[str, Path], tiny: Dataset, tmp_path: Path
) -> None:
    for part in ("features", "splits", "groundTruth", "dataset.toml"):
        (tmp_path / part).symlink_to(tiny.path / part)
    names = [*tiny.vocabulary.names[1:], tiny.vocabulary.names[0]]
    (tmp_path / "mapping.txt").write_text("".join(f"{i} {n}\n" for i, n in enumerate(names)))
    with pytest.raises(ConfigError, match="does not have the same classes as the model"):
        report_run(runs["plain"], dataset=tmp_path)
