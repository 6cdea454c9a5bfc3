"""Scores: Acc, Edit and F1@10/25/50 of segmentations, or of a folder of predictions."""

from uvast.evaluation.confidence import Reliability, expected_calibration_error, reliability
from uvast.evaluation.evaluate import evaluate, evaluate_in_detail
from uvast.evaluation.metrics import edit_score
from uvast.evaluation.predictions import (
    Track,
    find_predictions,
    folder_of_split,
    read_prediction,
    write_prediction,
)
from uvast.evaluation.scores import PROTOCOLS, ClassScores, Scores, mean_scores
from uvast.evaluation.scoring import Evaluation, fit, score, score_sides
from uvast.evaluation.segment_errors import SegmentErrors, find_errors

__all__ = [
    "PROTOCOLS",
    "ClassScores",
    "Evaluation",
    "Reliability",
    "Scores",
    "SegmentErrors",
    "Track",
    "edit_score",
    "evaluate",
    "evaluate_in_detail",
    "expected_calibration_error",
    "find_errors",
    "find_predictions",
    "fit",
    "folder_of_split",
    "mean_scores",
    "read_prediction",
    "reliability",
    "score",
    "score_sides",
    "write_prediction",
]
