"""`uvast demo`: the journey ends in tables and a report, and never removes a stranger's files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from in_process import uvast

from uvast.benchmark.demo import BASELINE, CLICKS, DECODED, FULL, clear_place
from uvast.errors import OutputError
from uvast.evaluation.pseudo_labels import methods_to_compare
from uvast.supervision import PseudoLabelOptions


def test_the_journey_from_clicks_to_the_report(tmp_path: Path) -> None:
    finished = uvast("demo", "--fast", "--json", "--out", tmp_path / "demo")
    assert finished.returncode == 0, finished.stderr
    result = json.loads(finished.stdout)
    rows = [(row["model"], row["decoding"]) for row in result["scores"]]
    assert rows == [
        (BASELINE, "frames"),
        *((FULL, name) for name in DECODED),
        *((CLICKS, name) for name in DECODED),
    ]
    pseudo_labels = result["pseudo_labels"]
    assert list(pseudo_labels) == list(methods_to_compare(PseudoLabelOptions()))
    assert pseudo_labels["class models + prior 0.25"]["acc"] > pseudo_labels["midpoint"]["acc"]
    broken_up = pseudo_labels["unconstrained k-medoids"]["edit"]
    assert broken_up < 50, "without order, segments break up"
    assert pseudo_labels["constrained k-medoids"]["edit"] == 100
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
