"""The systems of the paper's tables: which preset each has here, and what its rows are called.

One line in `SYSTEMS` gives a system its rows in the tables of `uvast reproduce` and its name in
those of `uvast benchmark`. `ABSENT` lists those that cannot be run here, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from uvast.inference.named_decodings import FRAME_WISE
from uvast.models.build import kind_writes
from uvast.presets import read_preset

if TYPE_CHECKING:
    from collections.abc import Mapping

WRITER = ("viterbi", "fifa", "semi-markov", "best")

TABLES = ("fully-supervised", "timestamps")
"""The tables of the paper that compare systems."""


@dataclass(frozen=True)
class System:
    """A published system that runs here.

    Args:
        name: its name in the paper's tables.
        preset: its published settings.
        alone: the system's own decoding, whose row has no suffix.
        tables: the tables it has rows in.
    """

    name: str
    preset: str
    alone: str = "frames"
    tables: tuple[str, ...] = TABLES

    @cached_property
    def kind(self) -> str:
        """The kind of model that its preset names."""
        return str(read_preset(self.preset)["model"]["kind"])

    @property
    def decodings(self) -> tuple[str, ...]:
        """Its own, then those of every model, on its own transcripts if it writes them."""
        others = WRITER if kind_writes(self.kind) else FRAME_WISE
        return tuple(dict.fromkeys((self.alone, *others)))


SYSTEMS = (
    System("MuCon", "mucon", alone="explicit"),
    System("DTGRM", "dtgrm"),
    System("MS-TCN", "ms-tcn"),
    System("MS-TCN++", "ms-tcn++"),
    System("BCN", "bcn"),
    System("SSTDA", "sstda"),
    System("Singhania et al.", "c2f-tcn"),
    System("ASRF", "asrf", alone="boundaries"),
    System("ASFormer", "asformer"),
    System("Li et al.", "li", tables=("timestamps",)),
)

ABSENT: Mapping[str, str] = MappingProxyType(
    {
        "TDRN": "neither its code nor the text of its paper was within reach",
        "SSA-GAN": "neither its code nor the text of its paper was within reach",
        "Gao et al.": "a search of GPU hours for dilations; docs/benchmark.md has a recipe for it",
    }
)
"""System of the paper's tables to the reason why it has no preset."""

ADDED: Mapping[str, str] = MappingProxyType(
    {
        "frames": "",
        "frames + mode filter": ", mode filter",
        "frames + viterbi": " + Viterbi",
        "frames + fifa": " + FIFA",
        "transcript": " w/o duration",
        "alignment": " + alignment decoder",
        "viterbi": " + Viterbi",
        "viterbi + gamma": " + Viterbi, Gamma lengths",
        "fifa": " + FIFA",
        "fifa + least energy": " + FIFA, least energy",
        "explicit": " + explicit durations",
        "boundaries": ", cut at its boundaries",
        "semi-markov": " + semi-Markov",
        "best": ", best",
    }
)
"""What a decoding adds to a system's name; published rows are named the same way."""


def system_of(kind: str) -> System | None:
    """The system with this kind of model, if the tables have it."""
    return next((one for one in SYSTEMS if one.kind == kind), None)


def method_name(kind: str, decoding: str) -> str:
    """What tables call a kind of model with a decoding: `ASFormer + FIFA`."""
    added = ADDED.get(decoding, f": {decoding}")
    system = system_of(kind)
    if system is not None and decoding == system.alone:
        return system.name
    name = "UVAST" if kind == "uvast" else kind if system is None else system.name
    if decoding.startswith("frames") and kind_writes(kind):
        return f"{name}, frame head{added}"
    return name + (added or ", frame labels" * (system is not None))
