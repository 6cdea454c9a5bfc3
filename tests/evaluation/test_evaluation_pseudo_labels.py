"""Pseudo-labels of every method: names of rows, the source rate, class models of all videos."""

from __future__ import annotations

import numpy as np

from uvast.data import Dataset
from uvast.evaluation import score
from uvast.evaluation.pseudo_labels import (
    make_pseudo_labels,
    methods_to_compare,
    score_pseudo_labels,
)
from uvast.supervision import PseudoLabelOptions, pseudo_segmentations


def test_the_rows_keep_metric_and_prior() -> None:
    rows = methods_to_compare(PseudoLabelOptions("midpoint", "cosine", 0.5))
    assert list(rows) == [
        "midpoint",
        "unconstrained k-medoids",
        "constrained k-medoids",
        "constrained k-medoids + prior 0.5",
        "energy (Li et al.)",
        "class models + prior 0.5",
    ]
    assert {one.metric for one in rows.values()} == {"cosine"}
    assert [one.prior for one in rows.values()] == [0.5, 0.5, 0.0, 0.5, 0.5, 0.5]
    assert len(set(rows.values())) == len(rows)


def test_a_prior_of_zero_repeats_no_row() -> None:
    rows = methods_to_compare(PseudoLabelOptions(prior=0.0))
    assert "constrained k-medoids + prior 0" not in rows
    assert len(set(rows.values())) == len(rows) == 5


def test_class_models_learn_from_all_videos_and_label_those_asked_for(tiny: Dataset) -> None:
    timestamps = tiny.timestamps()
    options = PseudoLabelOptions("class-model")
    wanted = tiny.names[:2]
    made = make_pseudo_labels(tiny, timestamps, options, videos=wanted)
    of_all = pseudo_segmentations(tiny, timestamps, timestamps, options)
    assert made == {name: of_all[name] for name in wanted}


def test_labels_come_back_at_the_source_rate(tiny: Dataset, tmp_path) -> None:
    for part in ("features", "groundTruth", "splits", "mapping.txt"):
        (tmp_path / part).symlink_to(tiny.path / part)
    (tmp_path / "dataset.toml").write_text("sampling_rate = 3\n")
    coarse = Dataset.open(tmp_path)
    clicks = {
        name: type(one)(np.unique(one.frames // 3), one.transcript)
        for name, one in tiny.timestamps().items()
        if len(np.unique(one.frames // 3)) == len(one)
    }
    made = make_pseudo_labels(coarse, clicks, PseudoLabelOptions("midpoint"))
    assert {name: one.n_frames for name, one in made.items()} == {
        name: tiny.source_frames(name) for name in clicks
    }
    pairs = [(one, tiny.source_segmentation(name)) for name, one in made.items()]
    assert score_pseudo_labels(coarse, made).scores == score(pairs, tiny.vocabulary)
