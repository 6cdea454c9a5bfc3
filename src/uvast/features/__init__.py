"""Videos, poses and tables to features `(T, F)`; overlays; generated videos.

Shapes: T frames, F features, H x W pixels. Anything that needs an extra or torch is imported on
first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uvast.features.card import FeatureCard, card_path, read_card
    from uvast.features.extraction import Order, Outcome, extract
    from uvast.features.extractor import Extractor, Picture, Request, View
    from uvast.features.frames import FrameReader, presentation_times
    from uvast.features.generate import generate_videos, motion_vocabulary
    from uvast.features.many import extract_all
    from uvast.features.models import parse_models
    from uvast.features.record import ExtractorRecord, common_extractor
    from uvast.features.sources import find_sources
    from uvast.features.video_file import VideoInfo, video_info

__all__ = [
    "Extractor",
    "ExtractorRecord",
    "FeatureCard",
    "FrameReader",
    "Order",
    "Outcome",
    "Picture",
    "Request",
    "VideoInfo",
    "View",
    "card_path",
    "common_extractor",
    "extract",
    "extract_all",
    "find_sources",
    "generate_videos",
    "motion_vocabulary",
    "parse_models",
    "presentation_times",
    "read_card",
    "video_info",
]

_HOMES = {
    "Extractor": "extractor",
    "ExtractorRecord": "record",
    "FeatureCard": "card",
    "FrameReader": "frames",
    "Order": "extraction",
    "Outcome": "extraction",
    "Picture": "extractor",
    "Request": "extractor",
    "VideoInfo": "video_file",
    "View": "extractor",
    "card_path": "card",
    "common_extractor": "record",
    "extract": "extraction",
    "extract_all": "many",
    "find_sources": "sources",
    "generate_videos": "generate",
    "motion_vocabulary": "generate",
    "parse_models": "models",
    "presentation_times": "frames",
    "read_card": "card",
    "video_info": "video_file",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"uvast.features.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
