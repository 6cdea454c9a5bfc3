"""Runs and predictions to reports."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import uvast
from uvast.config import Config
from uvast.data import Dataset
from uvast.errors import ConfigError, LabelError, UvastError
from uvast.evaluation import evaluate_in_detail, write_prediction
from uvast.report import Report, report_predictions, report_run
from uvast.report.of_run import ways_of
from uvast.report.pseudo_labels import compare_pseudo_labels
from uvast.segments import Segmentation
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
        },
    }
    return {
        name: train(tiny_path, folder / name, config=short.replaced(**changes), split=1).path
        for name, changes in kinds.items()
    }


@pytest.fixture(scope="module")
def full(runs: dict[str, Path]) -> Report:
    return report_run(runs["clicks"], compare_with=runs["plain"])


def test_every_way_is_scored_on_the_test_side(full: Report, tiny: Dataset) -> None:
    assert full.comparison is not None
    assert full.comparison.ways == (
        *("frames", "alignment", "viterbi", "fifa", "semi-markov", "best"),
    )
    assert full.comparison.ways[full.comparison.main] == "viterbi"  # the config's own
    assert [video.name for video in full.comparison.videos] == sorted(tiny.side(1, "test"))
    for video in full.comparison.videos:
        assert video.true == tiny.source_segmentation(video.name)
    assert full.notes == ()
    assert list(full.files) == ["config.toml", "run.json"]
    assert {"Stage 1: cross attention", "Stage 2: alignment"} <= {c.title for c in full.charts}


def test_the_models_own_decoding_is_a_way_and_the_main_one(
    runs: dict[str, Path], tiny_path: Path
) -> None:
    made = report_run(runs["explicit"]).comparison
    assert made is not None
    assert made.ways == ("frames", "viterbi", "fifa", "semi-markov", "best", "as configured")
    assert made.ways[made.main] == "as configured"
    expected = uvast.segment(runs["explicit"], tiny_path, split=1)
    for video in made.videos:
        assert video.predicted[made.main] == expected[video.name].segmentation


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
def test_only_a_decoding_that_no_way_has_is_added(
    runs: dict[str, Path], run: str, own: dict[str, object], added: bool
) -> None:
    loaded = uvast.load(runs[run])
    changes = {f"decode.{name}": value for name, value in own.items()}
    segmenter = replace(loaded, config=loaded.config.replaced(**changes))
    ways = ways_of(segmenter)
    assert ("as configured" in ways) == added
    if added:
        assert segmenter.options(**ways["as configured"]) == segmenter.options()


def test_a_way_is_what_the_model_predicts(full: Report, runs: dict[str, Path], tiny_path) -> None:
    expected = uvast.segment(runs["clicks"], tiny_path, split=1, transcript="semi-markov")
    assert full.comparison is not None
    way = full.comparison.ways.index("semi-markov")
    for video in full.comparison.videos:
        assert video.predicted[way] == expected[video.name].segmentation


def test_attention_maps_of_both_runs_have_a_row_a_segment(full: Report, tiny: Dataset) -> None:
    attention = full.attention
    assert attention is not None
    assert [one.title for one in attention.maps] == [
        "Target: the frames of each segment",
        "clicks: with the cross-attention loss",
        "plain: without the cross-attention loss",
    ]
    truth = tiny.source_segmentation(attention.video)
    assert attention.true == truth  # no chunks with timestamps
    assert attention.maps[0].weights.argmax(0).tolist() == truth.segment_of_frame.tolist()
    for one in attention.maps:
        assert one.weights.shape == (len(truth), truth.n_frames)
        np.testing.assert_allclose(one.weights.max(1), 1)


def test_a_dataset_of_another_rate_is_seen_at_the_models(
    runs: dict[str, Path], tiny: Dataset, tmp_path: Path
) -> None:
    for part in ("features", "groundTruth", "splits", "mapping.txt"):
        (tmp_path / part).symlink_to(tiny.path / part)
    (tmp_path / "dataset.toml").write_text("sampling_rate = 2\n")
    way = {"only": ["frames"], "video": min(tiny.side(1, "test"))}
    own, other = (report_run(runs["plain"], dataset=d, **way) for d in (tiny.path, tmp_path))
    assert [v.predicted for v in other.comparison.videos] == [
        v.predicted for v in own.comparison.videos
    ]
    for one, expected in zip(other.attention.maps, own.attention.maps, strict=True):
        np.testing.assert_array_equal(one.weights, expected.weights)


def test_attention_maps_of_folders_of_one_name_are_told_apart(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    places = [tmp_path / part / "uvast-full" / "split1-seed0" for part in ("old", "new")]
    for place in places:
        shutil.copytree(runs["plain"], place)
    made = report_run(places[0], only=["frames"], compare_with=places[1])
    assert made.attention is not None
    assert [one.title for one in made.attention.maps[1:]] == [
        "old/uvast-full/split1-seed0: without the cross-attention loss",
        "new/uvast-full/split1-seed0: without the cross-attention loss",
    ]
    same = report_run(places[0], only=["frames"], compare_with=places[0])
    assert same.attention is not None
    assert [one.title for one in same.attention.maps[1:]] == [
        "split1-seed0: without the cross-attention loss"
    ]


def test_pseudo_labels_of_the_training_side_are_compared(full: Report, tiny: Dataset) -> None:
    found = full.pseudo_labels
    assert found is not None
    assert found.ways == (
        "midpoint",
        "unconstrained k-medoids",
        "constrained k-medoids",
        "constrained k-medoids + prior 0.25",
        "class models + prior 0.25",
    )
    assert {video.name for video in found.videos} == set(tiny.side(1, "train"))
    for video in found.videos:
        assert video.timestamps is not None
        # A click lies in a segment of its action, in the truth and in all that keep the order.
        for one in (video.true, video.predicted[0], *video.predicted[2:]):
            np.testing.assert_array_equal(
                one.labels[video.timestamps], video.true.labels[video.timestamps]
            )


def test_pseudo_labels_of_many_videos_are_a_sample(tiny: Dataset) -> None:
    config = Config().supervision
    found = compare_pseudo_labels(tiny, tiny.names, config, max_videos=3)
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
    assert made.comparison.ways == ("frames", "semi-markov")
    total = 2 * len(made.comparison.videos)
    assert told == [(i + 1, total) for i in range(total)]
    with pytest.raises(ConfigError, match="has no cross-attention"):
        report_run(runs["ms-tcn"], only=["frames"], compare_with=runs["plain"])
    with pytest.raises(ConfigError, match="no way 'alignment' for this model"):
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
    monkeypatch.setattr("uvast.report.of_run._predictions", lambda *_, **__: pytest.fail("work"))
    if "compare_with" in arguments:
        arguments = {"compare_with": runs[arguments["compare_with"]]}
    with pytest.raises(UvastError, match=message):
        report_run(runs[run], **arguments)


def test_own_ways_and_a_chosen_video(runs: dict[str, Path], tiny: Dataset) -> None:
    name = min(tiny.side(1, "test"))
    ways = {"mine": {"transcript": "frames", "durations": "none", "mode_filter": 5}}
    made = report_run(runs["plain"], ways=ways, video=name)
    assert made.comparison is not None
    assert made.comparison.ways == ("mine",)
    assert made.attention is not None
    assert made.attention.video == name
    # Trained on full labels in chunks: a row is a chunk.
    assert made.attention.true == tiny.source_segmentation(name).chunked(0.17)
    with pytest.raises(ConfigError, match="way 'bare' gives no durations"):
        report_run(runs["plain"], ways={"bare": {"transcript": "decoder", "durations": "none"}})


def test_scores_on_trained_videos_say_so(runs: dict[str, Path], tiny: Dataset) -> None:
    made = report_run(runs["plain"], split=2, only=["frames"])
    n_seen = len(set(tiny.side(2, "test")) & set(tiny.side(1, "train")))
    assert n_seen
    assert made.notes[0].startswith(f"{n_seen} of the {len(tiny.side(2, 'test'))} videos were")


def test_a_dataset_without_labels_cannot_be_scored(
    runs: dict[str, Path], tiny: Dataset, tmp_path: Path
) -> None:
    for part in ("features", "splits", "mapping.txt", "dataset.toml"):
        (tmp_path / part).symlink_to(tiny.path / part)
    with pytest.raises(LabelError, match="no video to score has labels"):
        report_run(runs["plain"], dataset=tmp_path)


def test_another_dataset_s_classes_are_refused(
    runs: dict[str, Path], tiny: Dataset, tmp_path: Path
) -> None:
    for part in ("features", "splits", "groundTruth", "dataset.toml"):
        (tmp_path / part).symlink_to(tiny.path / part)
    names = [*tiny.vocabulary.names[1:], tiny.vocabulary.names[0]]
    (tmp_path / "mapping.txt").write_text("".join(f"{i} {n}\n" for i, n in enumerate(names)))
    with pytest.raises(ConfigError, match="has other classes than the model"):
        report_run(runs["plain"], dataset=tmp_path)


def test_predictions_of_all_splits_are_averaged(tiny: Dataset, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    for number in tiny.splits:
        for name in tiny.side(number, "test"):
            labels = tiny.source_labels(name).copy()
            labels[generator.integers(0, len(labels), 5)] = 0
            path = tmp_path / f"split{number}" / f"{name}.txt"
            write_prediction(path, Segmentation.from_labels(labels), tiny.vocabulary)
    made = report_predictions(tmp_path, tiny.path)
    expected = evaluate_in_detail(tmp_path, tiny, per_class=True)
    assert made.comparison is not None
    assert made.comparison.scores[0] == expected.scores
    assert [v.scores[0] for v in made.comparison.videos] == [
        one.scores for one in sorted(expected.videos, key=lambda one: one.video)
    ]
    one_split = report_predictions(tmp_path, tiny, 2)
    assert one_split.comparison is not None
    assert (
        one_split.comparison.scores[0]
        == evaluate_in_detail(tmp_path, tiny, 2, per_class=True).scores
    )
