"""Scores: Acc, Edit and F1@10/25/50 of segmentations, or of a folder of predictions."""

from uvast.evaluation.evaluate import evaluate, evaluate_in_detail
from uvast.evaluation.metrics import Counts, count, edit_score, sum_counts
from uvast.evaluation.predictions import (
    Track,
    find_predictions,
    folder_of_split,
    read_prediction,
    write_prediction,
)
from uvast.evaluation.scores import (
    PROTOCOLS,
    THRESHOLDS,
    ClassScores,
    ScoreProtocol,
    Scores,
    VideoScores,
    mean_scores,
    worst_first,
)
from uvast.evaluation.scoring import Evaluation, fit, score, score_sides

__all__ = [
    "PROTOCOLS",
    "THRESHOLDS",
    "ClassScores",
    "Counts",
    "Evaluation",
    "ScoreProtocol",
    "Scores",
    "Track",
    "VideoScores",
    "count",
    "edit_score",
    "evaluate",
    "evaluate_in_detail",
    "find_predictions",
    "fit",
    "folder_of_split",
    "mean_scores",
    "read_prediction",
    "score",
    "score_sides",
    "sum_counts",
    "worst_first",
    "write_prediction",
]
