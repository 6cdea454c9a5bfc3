"""Scores: Acc, Edit and F1@10/25/50 of segmentations, or of a folder of predictions."""

from uvast.evaluation.evaluate import Evaluation, evaluate, evaluate_in_detail
from uvast.evaluation.metrics import Counts, count, edit_score, score, sum_counts
from uvast.evaluation.predictions import (
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

__all__ = [
    "PROTOCOLS",
    "THRESHOLDS",
    "ClassScores",
    "Counts",
    "Evaluation",
    "ScoreProtocol",
    "Scores",
    "VideoScores",
    "count",
    "edit_score",
    "evaluate",
    "evaluate_in_detail",
    "find_predictions",
    "folder_of_split",
    "mean_scores",
    "read_prediction",
    "score",
    "sum_counts",
    "worst_first",
    "write_prediction",
]
