"""`uvast demo`: the journey ends in tables and a report, and never removes a stranger's files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from uvast.benchmark.demo import BASELINE, CLICKS, FULL, PSEUDO_LABELS, WAYS, clear_place
from uvast.errors import OutputError


def test_the_journey_from_clicks_to_the_report(tmp_path: Path) -> None:
    finished = subprocess.run(
        [
            sys.executable,
            "-m",
            "uvast",
            "demo",
            "--fast",
            "--json",
            "--out",
            str(tmp_path / "demo"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    result = json.loads(finished.stdout)
    rows = [(row["model"], row["decoding"]) for row in result["scores"]]
    assert rows == [
        (BASELINE, "frames"),
        *((FULL, way) for way in WAYS),
        *((CLICKS, way) for way in WAYS),
    ]
    pseudo_labels = result["pseudo_labels"]
    assert list(pseudo_labels) == list(PSEUDO_LABELS)
    assert pseudo_labels["class models"]["acc"] > pseudo_labels["midpoint"]["acc"]
    assert pseudo_labels["k-medoids, any order"]["edit"] < 50, "without order, segments break up"
    assert pseudo_labels["k-medoids (paper)"]["edit"] == 100
    assert Path(result["report"]).stat().st_size > 10_000
    assert "training: UVAST, one click per action" in finished.stderr


def test_only_an_earlier_demo_is_replaced(tmp_path: Path) -> None:
    clear_place(tmp_path / "new", overwrite=False)
    (tmp_path / "thesis.txt").write_text("precious")
    for overwrite in (False, True):
        with pytest.raises(OutputError, match=r"is not empty; choose another --out"):
            clear_place(tmp_path, overwrite=overwrite)
    assert (tmp_path / "thesis.txt").read_text() == "precious"
    (tmp_path / ".uvast-demo").write_text("made by uvast demo\n")
    clear_place(tmp_path, overwrite=True)
    assert not tmp_path.exists()
