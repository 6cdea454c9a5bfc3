"""Every table of the paper and its supplement, row by row.

Rows that the paper does not have are ours: the systems and decodings it leaves out.
"""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from uvast.benchmark.systems import SYSTEMS, method_name
from uvast.benchmark.tables import Row, Table, make_table, preset_settings
from uvast.errors import ConfigError
from uvast.inference.named_decodings import DECODINGS, FIFA, FRAMES, VITERBI
from uvast.supervision import PseudoLabelOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from uvast.benchmark.systems import System
    from uvast.supervision.targets import Method

STAGE_ONE = {"train.alignment_epochs": 0}
"""For rows that need no alignment decoder."""

TIMESTAMPS: dict[str, object] = {
    "supervision.kind": "timestamps",
    "supervision.method": "k-medoids",
    "supervision.metric": "euclidean",
    "supervision.prior": 0.0,
    "supervision.refresh_every": 0,
}
"""Timestamp supervision as in the paper: k-medoids on the input features, once, without a prior."""

NO_DURATIONS = {"transcript": "decoder", "durations": "none"}
ALIGNMENT = {"transcript": "decoder", "durations": "alignment"}
EXPLICIT = {"transcript": "decoder", "durations": "explicit"}
SEMI_MARKOV = {"transcript": "semi-markov"}
BEST = {"transcript": "best", "beam_width": 5}


@lru_cache(maxsize=1)
def tables() -> Mapping[str, Table]:
    """All tables by name, in the order of the paper."""
    return MappingProxyType({one.name: one for one in (*_main_tables(), *_ablations())})


def find_table(name: str) -> Table:
    """The table of this name."""
    if name not in tables():
        raise ConfigError(f"unknown table {name!r}", remedy=f"choose from {', '.join(tables())}")
    return tables()[name]


def _main_tables() -> Iterator[Table]:
    yield make_table(
        "fully-supervised",
        "Full supervision: every way to get durations, and the other systems.",
        _model_rows("fully-supervised", {}),
    )
    yield make_table(
        "timestamps",
        "Timestamp supervision: pseudo-labels of constrained k-medoids, or a system's own.",
        _model_rows("timestamps", TIMESTAMPS),
    )
    yield make_table(
        "k-medoids",
        "Pseudo-labels of the training side, made from timestamps, against the true labels.",
        [
            _pseudo_label_row("Constrained k-medoids", "k-medoids", prior=0.0),
            _pseudo_label_row("Midpoint", "midpoint"),
            _pseudo_label_row(
                "Constrained k-medoids, midpoint prior 0.25", "k-medoids", prior=0.25
            ),
            _pseudo_label_row("Constrained k-medoids, midpoint prior 1.0", "k-medoids", prior=1.0),
        ],
    )


def _ablations() -> Iterator[Table]:
    yield make_table(
        "duration-prediction",
        "From durations that the decoder regresses to durations by the alignment decoder.",
        _duration_rows(),
        split=1,
    )
    yield make_table(
        "loss-terms",
        "What each term of the loss is worth; durations by the alignment decoder.",
        _loss_rows(),
        split=1,
    )
    yield make_table(
        "encoders", "Three frame encoders under the same decoder.", _encoder_rows(), split=1
    )
    yield make_table(
        "split-segment",
        "Cutting long segments for training, or not.",
        [
            _stage_one_row("No Split-Segment", {"train.chunk_fraction": 0.0}),
            _stage_one_row("With Split-Segment", {}),
        ],
        split=1,
    )
    yield make_table(
        "split-values",
        "The longest chunk that training keeps in one piece, as a share of the video.",
        [
            _stage_one_row(f"{value}", {"train.chunk_fraction": value})
            for value in (0.05, 0.1, 0.15, 0.17, 0.2, 0.3)
        ],
        split=1,
    )
    yield make_table(
        "k-medoids-unconstrained",
        "What the constraint is worth: clusters in one piece against clusters of any shape.",
        [
            _pseudo_label_row("Constrained k-medoids", "k-medoids", prior=0.0),
            _pseudo_label_row("Unconstrained k-medoids", "unconstrained"),
        ],
    )
    yield make_table(
        "group-losses",
        "Where a group's average is taken: probabilities or logits.",
        _group_rows(),
        split=1,
    )


def _model_rows(table: str, settings: Mapping[str, object]) -> Iterator[Row]:
    """UVAST and the other systems, each with every decoding."""
    for name, decode in (
        ("UVAST w/o duration", NO_DURATIONS),
        ("UVAST + alignment decoder", ALIGNMENT),
        ("UVAST + Viterbi", {**NO_DURATIONS, **VITERBI}),
        ("UVAST + FIFA", {**NO_DURATIONS, **FIFA}),
        ("UVAST + semi-Markov", SEMI_MARKOV),
        ("UVAST, best candidate", BEST),
    ):
        yield Row(name, settings=settings, decode=decode)
    for system in SYSTEMS:
        if table in system.tables:
            yield from _system_rows(system, settings)


def _system_rows(system: System, settings: Mapping[str, object]) -> Iterator[Row]:
    """A system with every decoding; if its preset says how to learn from clicks, that counts."""
    training = preset_settings(system.preset)
    kind = {"model.kind": training.pop("model.kind")}
    own = {name: training.pop(name) for name in tuple(training) if name in settings}
    for decoding in system.decodings:
        yield Row(
            method_name(system.kind, decoding),
            settings={**kind, **settings, **own},
            defaults=training,
            decode=DECODINGS[decoding],
        )


def _pseudo_label_row(name: str, method: Method, *, prior: float = PseudoLabelOptions.prior) -> Row:
    return Row(name, "pseudo-labels", pseudo_labels=PseudoLabelOptions(method, prior=prior))


def _stage_one_row(name: str, settings: Mapping[str, object]) -> Row:
    """A row that is judged by its transcripts alone."""
    return Row(name, settings=settings, defaults=STAGE_ONE, decode=NO_DURATIONS)


def _losses(*terms: str) -> dict[str, object]:
    """Switches on the named terms and no others; group terms take the presets' forms."""
    return {
        "loss.frame": "frame" in terms,
        "loss.segment": "segment" in terms,
        "loss.group_frame": "mean-logit" if "g-frame" in terms else "off",
        "loss.group_segment": "mean-probability" if "g-segment" in terms else "off",
        "loss.cross_attention": "CA" in terms,
    }


def _duration_rows() -> Iterator[Row]:
    explicit = {"model.explicit_durations": True}
    vanilla, plain = _losses("segment"), _losses("segment", "frame")
    for name, losses in (
        ("Vanilla Transformer: segment + MSE", vanilla),
        ("+ Frame-wise Loss: segment + frame + MSE", plain),
        ("+ Frame-wise Loss: full loss + MSE", {}),
    ):
        yield Row(name, settings=losses | explicit, defaults=STAGE_ONE, decode=EXPLICIT)
    yield Row("+ Alignment Decoder: segment + frame + AD", settings=plain, decode=ALIGNMENT)
    yield Row("+ Alignment Decoder: full loss + AD", decode=ALIGNMENT)


def _loss_rows() -> Iterator[Row]:
    # The paper does not say which durations its F1 uses. The alignment decoder's work for every
    # row, Viterbi's would not: without the frame loss there are no frame probabilities.
    yield Row("frame", settings=_losses("frame"), defaults=STAGE_ONE, decode=FRAMES)
    both = ("frame", "segment")
    for terms in (
        ("segment",),
        both,
        (*both, "CA"),
        (*both, "g-frame"),
        (*both, "g-segment"),
        (*both, "g-frame", "g-segment"),
        (*both, "g-frame", "g-segment", "CA"),
    ):
        yield Row(" + ".join(terms), settings=_losses(*terms), decode=ALIGNMENT)


def _encoder_rows() -> Iterator[Row]:
    encoders = {"Simple": "plain", "ASFormer": "asformer", "Proposed": "uvast"}
    for model, supervision in (("UVAST", {}), ("UVAST Timestamp", TIMESTAMPS)):
        for name, encoder in encoders.items():
            settings = {"model.encoder": encoder, **supervision}
            yield _stage_one_row(f"{model} with {name} Encoder", settings)


def _group_rows() -> Iterator[Row]:
    # The paper's table and text disagree on which loss of the best pair has which form: both are
    # rows.
    for frame, segment in (
        ("mean-probability", "mean-probability"),
        ("mean-logit", "mean-logit"),
        ("mean-probability", "mean-logit"),
        ("mean-logit", "mean-probability"),
    ):
        settings = {"loss.group_frame": frame, "loss.group_segment": segment}
        yield _stage_one_row(f"g-frame {frame}, g-segment {segment}", settings)
