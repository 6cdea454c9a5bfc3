"""From a trained model to segmentations."""

from uvast.inference.pipeline import Outcome, segment
from uvast.inference.prediction import FramePrediction, LabelledSegment, Prediction
from uvast.inference.segmenter import Segmenter, load

__all__ = [
    "FramePrediction",
    "LabelledSegment",
    "Outcome",
    "Prediction",
    "Segmenter",
    "load",
    "segment",
]
