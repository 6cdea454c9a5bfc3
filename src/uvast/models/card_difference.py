"""Which models can be members of one ensemble."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uvast.features.record import ExtractorRecord
    from uvast.models.checkpoint import ModelCard


def card_difference(one: ModelCard, other: ModelCard) -> str | None:
    """What keeps two models from being in one ensemble, in a few words; None if nothing does."""
    if one.vocabulary != other.vocabulary:
        return "their classes differ"
    widths = [card.dimensions.get("n_features") for card in (one, other)]
    if widths[0] != widths[1]:
        return f"their features are {widths[0]} and {widths[1]} wide"
    if one.sampling_rate != other.sampling_rate:
        return f"their sampling rates are {one.sampling_rate} and {other.sampling_rate}"
    if _without_files(one.extractor) != _without_files(other.extractor):
        first, second = (_in_words(card.extractor) for card in (one, other))
        return f"their features were made by {first} and by {second}"
    return None


def _without_files(extractor: ExtractorRecord | None) -> ExtractorRecord | None:
    """Where a model's file was does not matter: its hash is part of the version."""
    return None if extractor is None else replace(extractor, files=())


def _in_words(extractor: ExtractorRecord | None) -> str:
    if extractor is None:
        return "an unknown extractor"
    rate = extractor.frames_per_second
    every = "every frame" if rate is None else f"{rate:g} frames per second"
    return f"{extractor.model} (version {', '.join(extractor.version)}, {every})"
