"""The decodings that benchmarks and reports compare, by name."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from uvast.config import parse_setting
from uvast.errors import ConfigError
from uvast.models.build import kind_writes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from uvast.config import DecodeConfig

FRAMES = MappingProxyType({"transcript": "frames", "durations": "none"})
VITERBI = MappingProxyType({"durations": "viterbi", "length_model": "poisson"})
FIFA = MappingProxyType({"durations": "fifa", "fifa_optimiser": "gradient-descent"})
GREEDY = MappingProxyType({"transcript": "decoder", "durations": "none", "beam_width": 0})
"""The beam width is 0, not 1, to equal a config that says nothing about beams."""

DECODINGS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "frames": {**FRAMES},
        "frames + mode filter": {**FRAMES, "mode_filter": 25},
        "frames + viterbi": {**FRAMES, **VITERBI},
        "frames + fifa": {**FRAMES, **FIFA},
        "transcript": {**GREEDY},
        "alignment": {**GREEDY, "durations": "alignment"},
        "viterbi": {**GREEDY, **VITERBI},
        "viterbi + gamma": {**GREEDY, **VITERBI, "length_model": "gamma"},
        "fifa": {**GREEDY, **FIFA},
        "fifa + least energy": {**GREEDY, **FIFA, "fifa_optimiser": "fast"},
        "explicit": {**GREEDY, "durations": "explicit"},
        "boundaries": {"transcript": "boundaries", "durations": "none"},
        "semi-markov": {"transcript": "semi-markov"},
        "best": {"transcript": "best", "beam_width": 0},
    }
)
"""Name -> changes to a config's `decode` section."""

FRAME_WISE = ("frames", "frames + viterbi", "frames + fifa", "semi-markov")
"""What every model can do."""

WRITTEN = ("frames", "transcript", "alignment", "explicit", "viterbi", "viterbi + gamma", "fifa")
"""What models that write transcripts can do; not all of them can do everything."""

JOINT = ("semi-markov", "best")

ON_FRAMES = MappingProxyType(
    {"none": "frames", "viterbi": "frames + viterbi", "fifa": "frames + fifa"}
)
"""What a way to get durations means if the transcript is read off the frames."""


def decodings_of(
    kind: str, *, alignment: bool, explicit: bool = False, boundaries: bool = False
) -> tuple[str, ...]:
    """The decodings that fit a kind of model, given which optional outputs it has."""
    own = ("boundaries",) if boundaries else ()
    if not kind_writes(kind):
        return (*own, *FRAME_WISE)
    given = {"alignment": alignment, "explicit": explicit}
    return tuple(name for name in (*WRITTEN, *own, *JOINT) if given.get(name, True))


def fitting_decodings(
    names: Iterable[str],
    kind: str,
    *,
    alignment: bool,
    explicit: bool = False,
    boundaries: bool = False,
) -> tuple[str, ...]:
    """The given decodings that a model can do, under the names that fit the model.

    `none`, `viterbi` and `fifa` use the transcript decoder if there is one, else the transcript
    read off the frames. What does not fit the model is left out.
    """
    given = {"alignment": alignment, "explicit": explicit, "boundaries": boundaries}
    writes, chosen = kind_writes(kind), []
    for name in names:
        if name != "none" and name not in DECODINGS:
            known = ", ".join(("none", *DECODINGS))
            raise ConfigError(f"no decoding {name!r}", remedy=f"choose from {known}")
        if writes:
            name = "transcript" if name == "none" else name
            fits = given.get(name, True)
        else:
            name = ON_FRAMES.get(name, name)
            fits = DECODINGS[name]["transcript"] in ("frames", "semi-markov")
            fits = fits or (name == "boundaries" and boundaries)
        if fits:
            chosen.append(name)
    return tuple(dict.fromkeys(chosen))


def named_decodings(names: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """The changes that each name stands for."""
    return {name: DECODINGS[name] for name in names}


def parse_decode_setting(text: str) -> tuple[str, object]:
    """`beam_width=5`, or `decode.beam_width=5`, -> the setting's name in a config and its value."""
    name, separator, value = text.partition("=")
    name = name.strip().removeprefix("decode.")
    if not separator or "." in name:
        raise ConfigError(
            f"--set {text!r} is not a decoding setting of the form name=value",
            remedy="write for example --set beam_width=5",
        )
    return parse_setting(f"decode.{name}={value}")


def check_effect(names: Iterable[str], options: DecodeConfig) -> None:
    """Refuses settings, such as `decode.durations`, that joint decoding does not use."""
    if options.transcript not in JOINT:
        return
    used = {"transcript", "alpha", "boundary_weight", "rates", "phases", "ends", "recipes"}
    if options.transcript == "best":
        used |= {"beam_width", "length_power", "max_segments"}
    given = [name.removeprefix("decode.") for name in names]
    idle = [name for name in given if name not in used]
    if idle:
        raise ConfigError(
            f"transcript {options.transcript!r} finds its own durations "
            f"and does not use {', '.join(idle)}",
            remedy="leave that out, or choose another --transcript",
        )
