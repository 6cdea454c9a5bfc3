"""Datasets: reading, checking, splitting, generating; batches for training.

Shapes: B videos per batch, T frames, S segments, F features. Anything that needs torch (`Batch`
and its kin) or scipy is imported on first use, so that reading a dataset stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from uvast.data.check import DatasetCheck, check_dataset
from uvast.data.dataset import Dataset
from uvast.data.frame_dropping import drop_frames
from uvast.data.labelled import Stretch, write_labelled
from uvast.data.sample_augmentation import SampleAugmentation
from uvast.data.scaling import Scaling, fit_scaling, levelled
from uvast.data.spec import DatasetSpec, read_spec, write_spec
from uvast.data.splits import Split, make_splits, validation_part, write_splits
from uvast.data.statistics import Statistics
from uvast.data.symmetry import Symmetry, SymmetrySpec
from uvast.data.timestamp_files import read_timestamps, write_timestamps
from uvast.data.timestamps import Annotation, Timestamps, annotate
from uvast.data.video import Video

if TYPE_CHECKING:
    from uvast.data.batching import PADDING, Batch, Targets, collate
    from uvast.data.generate import generate_dataset
    from uvast.data.video_loader import VideoLoader

__all__ = [
    "PADDING",
    "Annotation",
    "Batch",
    "Dataset",
    "DatasetCheck",
    "DatasetSpec",
    "SampleAugmentation",
    "Scaling",
    "Split",
    "Statistics",
    "Stretch",
    "Symmetry",
    "SymmetrySpec",
    "Targets",
    "Timestamps",
    "Video",
    "VideoLoader",
    "annotate",
    "check_dataset",
    "collate",
    "drop_frames",
    "fit_scaling",
    "generate_dataset",
    "levelled",
    "make_splits",
    "read_spec",
    "read_timestamps",
    "validation_part",
    "write_labelled",
    "write_spec",
    "write_splits",
    "write_timestamps",
]

_LATE = {
    "PADDING": "batching",
    "Batch": "batching",
    "Targets": "batching",
    "VideoLoader": "video_loader",
    "collate": "batching",
    "generate_dataset": "generate",
}


def __getattr__(name: str) -> object:
    if name in _LATE:
        return getattr(import_module(f"uvast.data.{_LATE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
