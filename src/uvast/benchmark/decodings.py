"""The ways of decoding that benchmarks compare, by name."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from uvast.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DECODINGS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "frames": {"transcript": "frames", "durations": "none"},
        "frames, mode filter": {"transcript": "frames", "durations": "none", "mode_filter": 25},
        "frames + viterbi": {"transcript": "frames", "durations": "viterbi"},
        "frames + fifa": {"transcript": "frames", "durations": "fifa"},
        "transcript": {"transcript": "decoder", "durations": "none"},
        "alignment": {"transcript": "decoder", "durations": "alignment"},
        "viterbi": {"transcript": "decoder", "durations": "viterbi", "length_model": "poisson"},
        "viterbi, gamma": {
            "transcript": "decoder",
            "durations": "viterbi",
            "length_model": "gamma",
        },
        "fifa": {"transcript": "decoder", "durations": "fifa"},
        "fifa, 3000 steps": {
            "transcript": "decoder",
            "durations": "fifa",
            "fifa_optimiser": "gradient-descent",
        },
        "explicit": {"transcript": "decoder", "durations": "explicit"},
        "semi-markov": {"transcript": "semi-markov"},
        "best": {"transcript": "best", "beam_width": 5},
    }
)
"""Name to changes of a config's `decode` section."""

FRAME_WISE = ("frames", "frames + viterbi", "frames + fifa", "semi-markov")
"""What every model can do."""

UVAST = ("frames", "transcript", "alignment", "viterbi", "viterbi, gamma", "fifa")
JOINT = ("semi-markov", "best")


def decodings_of(kind: str, *, alignment: bool) -> tuple[str, ...]:
    """The names that fit a kind of model, with or without a second stage."""
    if kind != "uvast":
        return FRAME_WISE
    return tuple(name for name in (*UVAST, *JOINT) if alignment or name != "alignment")


def named_decodings(names: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """The changes of each name."""
    chosen = {}
    for name in names:
        if name not in DECODINGS:
            raise ConfigError(f"no decoding {name!r}", remedy=f"choose from {'; '.join(DECODINGS)}")
        chosen[name] = DECODINGS[name]
    return chosen
