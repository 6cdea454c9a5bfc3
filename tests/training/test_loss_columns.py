"""Losses in the log."""

from __future__ import annotations

from uvast.runs import LOG_COLUMNS
from uvast.training import EpochReport


def test_losses_without_a_column_are_summed_in_one():
    losses = {"frame": 1.0, "mine": 2.0, "yours": 3.5, "total": 6.5}
    row = EpochReport(1, 1, 5, 0.1, 1e-3, losses).as_row()
    assert (row["frame"], row["other"], row["loss"]) == ("1", "5.5", "6.5")
    assert set(row) <= set(LOG_COLUMNS)
    assert "other" not in EpochReport(1, 1, 5, 0.1, 1e-3, {"frame": 1.0, "total": 1.0}).as_row()
