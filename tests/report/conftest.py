"""A report of planted segmentations, whose names try to break out of the page."""

from __future__ import annotations

import numpy as np
import pytest

from uvast.report.compare import compare
from uvast.report.content import Attention, AttentionMap, BenchmarkRow, Chart, Report
from uvast.segments import Segmentation
from uvast.vocabulary import Vocabulary

EVIL = "</script><script>window.hacked=1</script>"
EVIL_VIDEO = '<img src=x onerror="window.hacked=1">&amp;'
CLASSES = Vocabulary(("background", EVIL, "$cut_$", "_stir & 'mix'"), ("background",))


def segmentation(*runs: tuple[int, int]) -> Segmentation:
    return Segmentation(
        np.array([action for action, _ in runs]), np.array([frames for _, frames in runs])
    )


TRUTHS = {
    EVIL_VIDEO: segmentation((0, 10), (1, 30), (2, 40), (0, 20)),
    "good": segmentation((3, 25), (1, 25)),
}
PREDICTIONS = {
    "frames": {
        EVIL_VIDEO: segmentation((0, 10), (1, 20), (2, 5), (1, 5), (3, 40), (0, 20)),
        "good": TRUTHS["good"],
    },
    "viterbi <b>": {EVIL_VIDEO: segmentation((0, 50), (2, 50)), "good": TRUTHS["good"]},
}


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
        comparison=compare(TRUTHS, PREDICTIONS, CLASSES, main=1),
        attention=Attention(EVIL_VIDEO, truth, (AttentionMap(EVIL, target),)),
        pseudo_labels=compare(
            TRUTHS,
            {"constrained": TRUTHS, "unconstrained": PREDICTIONS["frames"]},
            CLASSES,
            timestamps={EVIL_VIDEO: np.array([5, 20, 60, 90])},
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
