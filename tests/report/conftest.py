"""Reports of planted values."""

from __future__ import annotations

import numpy as np
import pytest
from planted_report import (
    CLASSES,
    CLICKS,
    EVIL,
    EVIL_VIDEO,
    PREDICTIONS,
    SURE,
    TRUTHS,
    tracks,
)

from uvast.report.compare import compare
from uvast.report.content import Attention, BenchmarkRow, Chart, Report


@pytest.fixture(scope="session")
def planted() -> Report:
    truth = TRUTHS[EVIL_VIDEO]
    target = (truth.segment_of_frame == np.arange(len(truth))[:, None]).astype(float)
    return Report(
        title=EVIL,
        facts={"Run <i>": EVIL, "Model": "uvast"},
        notes=(f"Mind {EVIL}",),
        vocabulary=CLASSES,
        frames_per_second=10.0,
        comparison=compare(
            {"frames": tracks(PREDICTIONS["frames"]), "viterbi <b>": SURE},
            TRUTHS,
            CLASSES,
            in_training={None: ["good"]},
            main=1,
        ),
        attention=Attention(EVIL_VIDEO, truth, {EVIL: target}),
        pseudo_labels=compare(
            {"constrained": tracks(TRUTHS), "unconstrained": tracks(PREDICTIONS["frames"])},
            TRUTHS,
            CLASSES,
            clicks=CLICKS,
        ),
        charts=(
            Chart("Stage 1: loss", (1.0, 2.0, 3.0), {"loss": (3.0, 2.0, 1.0)}),
            Chart(
                "Stage 1: validation",
                (1.0, 3.0),
                {"acc": (50.0, 60.0), "edit": (5.0, 6.0), EVIL: (1.0, 2.0)},
            ),
        ),
        files={"config.toml": f"[model]\nkind = '{EVIL}'\n"},
    )


@pytest.fixture(scope="session")
def unscored() -> Report:
    """Predictions, clicks and confidences without any ground truth or frame rate."""
    return Report(
        "new videos",
        {"Predictions": "new"},
        vocabulary=CLASSES,
        comparison=compare({"new": SURE}, {}, CLASSES, clicks=CLICKS),
    )


@pytest.fixture(scope="session")
def benchmark_report() -> Report:
    return Report(
        title="bench",
        facts={"Benchmark": "bench"},
        benchmark=(
            BenchmarkRow(
                ("gtea", EVIL, "full", "viterbi"),
                4,
                2,
                {"F1@10": 90.0, "F1@25": 85.0, "F1@50": 70.0, "Edit": 80.0, "Acc": 75.0},
                {"F1@10": 1.0, "F1@25": 1.0, "F1@50": 1.25, "Edit": 1.0, "Acc": 1.0},
            ),
            BenchmarkRow(("gtea", "uvast", "full", "transcript"), 4, 1, {"Edit": 82.0}, {}),
        ),
    )
