"""Every table of the paper and its supplement, row by row.

Rows that the paper does not have are ours: the baselines it leaves out, and what METHOD adds.
"""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from uvast.benchmark.tables import Row, Table, make_table, preset_settings
from uvast.errors import ConfigError
from uvast.supervision import PseudoLabelOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from uvast.config import GroupForm

STAGE_ONE = {"train.alignment_epochs": 0}
"""For rows that need no alignment decoder."""

BASELINES = {"MS-TCN": "ms-tcn", "MS-TCN++": "ms-tcn++", "ASFormer": "asformer"}
"""A baseline's name in the tables, and its preset."""

TIMESTAMPS: dict[str, object] = {
    "supervision.kind": "timestamps",
    "supervision.method": "k-medoids",
    "supervision.metric": "euclidean",
    "supervision.prior": 0.0,
    "supervision.refresh_every": 0,
}
"""Timestamp supervision as in the paper: k-medoids on the input features, once, without a prior."""

FIFA = {"decode.durations": "fifa", "decode.fifa_optimiser": "gradient-descent"}
VITERBI = {"decode.durations": "viterbi", "decode.length_model": "poisson"}


def _decoding(transcript: str, durations: Mapping[str, object] | str) -> dict[str, object]:
    more = {"decode.durations": durations} if isinstance(durations, str) else durations
    return {"decode.transcript": transcript, **more}


NO_DURATIONS = _decoding("decoder", "none")
ALIGNMENT = _decoding("decoder", "alignment")
EXPLICIT = _decoding("decoder", "explicit")
SEMI_MARKOV = {"decode.transcript": "semi-markov"}
BEST = {"decode.transcript": "best", "decode.beam_width": 5}


@lru_cache(maxsize=1)
def tables() -> Mapping[str, Table]:
    """All tables by name, in the order of the paper."""
    every = (
        _fully_supervised(),
        _timestamps(),
        _k_medoids(),
        _duration_prediction(),
        _loss_terms(),
        _encoders(),
        _split_segment(),
        _split_values(),
        _k_medoids_unconstrained(),
        _group_losses(),
    )
    return MappingProxyType({one.name: one for one in every})


def find_table(name: str) -> Table:
    """The table of this name."""
    if name not in tables():
        raise ConfigError(f"unknown table {name!r}", remedy=f"choose from {', '.join(tables())}")
    return tables()[name]


def _fully_supervised() -> Table:
    return make_table(
        "fully-supervised",
        "Full supervision: every way to get durations, and the frame-wise baselines.",
        [*_uvast_rows({}), *_baseline_rows({})],
    )


def _timestamps() -> Table:
    return make_table(
        "timestamps",
        "Timestamp supervision: all models learn from the pseudo-labels of constrained k-medoids.",
        [*_uvast_rows(TIMESTAMPS), *_baseline_rows(TIMESTAMPS)],
    )


def _uvast_rows(settings: dict[str, object]) -> Iterator[Row]:
    yield Row("UVAST w/o duration", settings=settings, decode=NO_DURATIONS)
    yield Row("UVAST + alignment decoder", settings=settings, decode=ALIGNMENT)
    yield Row("UVAST + Viterbi", settings=settings, decode=_decoding("decoder", VITERBI))
    yield Row("UVAST + FIFA", settings=settings, decode=_decoding("decoder", FIFA))
    yield Row("UVAST + semi-Markov", settings=settings, decode=SEMI_MARKOV)
    yield Row("UVAST, best candidate", settings=settings, decode=BEST)


def _baseline_rows(settings: dict[str, object]) -> Iterator[Row]:
    for name, preset in BASELINES.items():
        training = preset_settings(preset)
        kind = {"model.kind": training.pop("model.kind")}
        for suffix, decode in (
            ("", _decoding("frames", "none")),
            (" + Viterbi", _decoding("frames", VITERBI)),
            (" + FIFA", _decoding("frames", FIFA)),
            (" + semi-Markov", SEMI_MARKOV),
        ):
            yield Row(name + suffix, settings=kind | settings, defaults=training, decode=decode)


def _pseudo_labels(name: str, options: PseudoLabelOptions) -> Row:
    return Row(name, "pseudo-labels", pseudo_labels=options)


def _k_medoids() -> Table:
    return make_table(
        "k-medoids",
        "Pseudo-labels of the training side, made from timestamps, against the true labels.",
        [
            _pseudo_labels("Constrained k-medoids", PseudoLabelOptions("k-medoids", prior=0.0)),
            _pseudo_labels("Midpoint", PseudoLabelOptions("midpoint")),
            *(
                _pseudo_labels(
                    f"Constrained k-medoids, midpoint prior {prior}",
                    PseudoLabelOptions("k-medoids", prior=prior),
                )
                for prior in (0.25, 1.0)
            ),
        ],
    )


def _k_medoids_unconstrained() -> Table:
    return make_table(
        "k-medoids-unconstrained",
        "What the constraint is worth: clusters in one piece against clusters of any shape.",
        [
            _pseudo_labels("Constrained k-medoids", PseudoLabelOptions("k-medoids", prior=0.0)),
            _pseudo_labels("Unconstrained k-medoids", PseudoLabelOptions("unconstrained")),
        ],
    )


def _losses(*terms: str) -> dict[str, object]:
    """Switches on the terms named, and no others; group terms in the presets' forms."""
    return {
        "loss.frame": "frame" in terms,
        "loss.segment": "segment" in terms,
        "loss.group_frame": "mean-logit" if "g-frame" in terms else "off",
        "loss.group_segment": "mean-probability" if "g-segment" in terms else "off",
        "loss.cross_attention": "CA" in terms,
    }


def _duration_prediction() -> Table:
    explicit = {"model.explicit_durations": True}
    vanilla, plain = _losses("segment"), _losses("segment", "frame")
    return make_table(
        "duration-prediction",
        "From durations that the decoder regresses to durations by the alignment decoder.",
        [
            *(
                Row(name, settings=losses | explicit, defaults=STAGE_ONE, decode=EXPLICIT)
                for name, losses in (
                    ("Vanilla Transformer: segment + MSE", vanilla),
                    ("+ Frame-wise Loss: segment + frame + MSE", plain),
                    ("+ Frame-wise Loss: full loss + MSE", {}),
                )
            ),
            Row("+ Alignment Decoder: segment + frame + AD", settings=plain, decode=ALIGNMENT),
            Row("+ Alignment Decoder: full loss + AD", decode=ALIGNMENT),
        ],
        split=1,
    )


def _loss_terms() -> Table:
    # The paper does not say whose durations its F1 is of. The alignment decoder's work for every
    # row, Viterbi's would not: without the frame loss there are no frame probabilities.
    both = ("frame", "segment")
    combinations = (
        ("segment",),
        both,
        (*both, "CA"),
        (*both, "g-frame"),
        (*both, "g-segment"),
        (*both, "g-frame", "g-segment"),
        (*both, "g-frame", "g-segment", "CA"),
    )
    frames_only = Row(
        "frame",
        settings=_losses("frame"),
        defaults=STAGE_ONE,
        decode=_decoding("frames", "none"),
    )
    return make_table(
        "loss-terms",
        "What each term of the loss is worth; durations by the alignment decoder.",
        [
            frames_only,
            *(
                Row(" + ".join(terms), settings=_losses(*terms), decode=ALIGNMENT)
                for terms in combinations
            ),
        ],
        split=1,
    )


def _encoders() -> Table:
    encoders = {"Simple": "plain", "ASFormer": "asformer", "Proposed": "uvast"}
    rows = [
        Row(
            f"{model} with {name} Encoder",
            settings={"model.encoder": encoder, **supervision},
            defaults=STAGE_ONE,
            decode=NO_DURATIONS,
        )
        for model, supervision in (("UVAST", {}), ("UVAST Timestamp", TIMESTAMPS))
        for name, encoder in encoders.items()
    ]
    return make_table("encoders", "Three frame encoders under the same decoder.", rows, split=1)


def _split_segment() -> Table:
    return make_table(
        "split-segment",
        "Cutting long segments for training, or not.",
        [
            Row(
                "No Split-Segment",
                settings={"train.chunk_fraction": 0.0},
                defaults=STAGE_ONE,
                decode=NO_DURATIONS,
            ),
            Row("With Split-Segment", defaults=STAGE_ONE, decode=NO_DURATIONS),
        ],
        split=1,
    )


def _split_values() -> Table:
    return make_table(
        "split-values",
        "The longest chunk that training keeps in one piece, as a share of the video.",
        [
            Row(
                f"{value}",
                settings={"train.chunk_fraction": value},
                defaults=STAGE_ONE,
                decode=NO_DURATIONS,
            )
            for value in (0.05, 0.1, 0.15, 0.17, 0.2, 0.3)
        ],
        split=1,
    )


def _group_losses() -> Table:
    # The paper's table and text disagree on which loss of the best pair is whose: both are rows.
    forms: tuple[tuple[GroupForm, GroupForm], ...] = (
        ("mean-probability", "mean-probability"),
        ("mean-logit", "mean-logit"),
        ("mean-probability", "mean-logit"),
        ("mean-logit", "mean-probability"),
    )
    rows = [
        Row(
            f"g-frame {frame}, g-segment {segment}",
            settings={"loss.group_frame": frame, "loss.group_segment": segment},
            defaults=STAGE_ONE,
            decode=NO_DURATIONS,
        )
        for frame, segment in forms
    ]
    return make_table(
        "group-losses", "Where a group's average is taken: probabilities or logits.", rows, split=1
    )
