"""The curves of `label_next.py`: as a table, as differences run by run, and as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    Round = dict[str, float]
    """The clicks so far, and the scores."""
    Table = dict[str, list[Round]]
    """The rounds of `split/seed/strategy`."""

STRATEGIES = ("label next", "random video", "random moment")
SCORES = ("acc", "edit", "f1@50")
NAMES = ("Acc", "Edit", "F1@50")
COLOURS = ("#0072b2", "#d55e00", "#999999")
N_GRID = 50


def curves(table: Table) -> dict[str, np.ndarray]:
    """Strategy to clicks and scores of every run and round `(n_runs, n_rounds, 4)`.

    Runs of the same split and seed have the same index.
    """
    return {
        strategy: np.array(
            [
                [[one[column] for column in ("clicks", *SCORES)] for one in rounds]
                for key, rounds in sorted(table.items())
                if key.endswith(f"/{strategy}")
            ]
        )
        for strategy in STRATEGIES
    }


def print_table(found: Mapping[str, np.ndarray]) -> None:
    """Means over splits and seeds after each round, with their standard errors."""
    for strategy, runs in found.items():
        means, errors = runs.mean(axis=0), _errors(runs)
        for number, (mean, error) in enumerate(zip(means, errors, strict=True)):
            shown = [f"{a:5.1f} ± {b:3.1f}" for a, b in zip(mean[1:], error[1:], strict=True)]
            print(f"{strategy:14} {number:2} {mean[0]:6.0f} clicks  {'  '.join(shown)}")


def print_differences(found: Mapping[str, np.ndarray]) -> None:
    """How far label next is ahead, run by run: means over equal clicks, with standard errors.

    Runs of the same split and seed are compared: their first clicks cause most of the spread.
    """
    ours = found["label next"]
    for strategy in STRATEGIES[1:]:
        apart = np.array(
            [_ahead(one, other) for one, other in zip(ours, found[strategy], strict=True)]
        )
        both = zip(NAMES, apart.mean(axis=0), _errors(apart), (apart > 0).sum(axis=0), strict=True)
        shown = (f"{name} {mean:+.1f} ± {error:.1f} ({n})" for name, mean, error, n in both)
        print(f"against {strategy}, {len(apart)} runs (ahead in): {', '.join(shown)}")


def _ahead(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The mean difference of two runs' scores between the start and the end of the shorter."""
    grid = np.linspace(one[0, 0], min(one[-1, 0], other[-1, 0]), N_GRID)[1:]
    first, second = (
        np.array([np.interp(grid, run[:, 0], run[:, column]).mean() for column in (1, 2, 3)])
        for run in (one, other)
    )
    return first - second


def _errors(runs: np.ndarray) -> np.ndarray:
    """Standard errors of the mean over runs, the first axis."""
    return runs.std(axis=0) / max(1, len(runs) - 1) ** 0.5


def draw(found: Mapping[str, np.ndarray], title: str, path: Path) -> None:
    """Acc and F1@50 over clicks: means, and bands of their standard errors."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    for axes, column in zip(figure.subplots(1, 2), (1, 3), strict=True):
        for (strategy, runs), colour in zip(found.items(), COLOURS, strict=True):
            means, errors = runs.mean(axis=0), _errors(runs)
            x, y, error = means[:, 0], means[:, column], errors[:, column]
            axes.plot(x, y, color=colour, marker="o", markersize=3, label=strategy)
            axes.fill_between(x, y - error, y + error, color=colour, alpha=0.15, linewidth=0)
        axes.set(xlabel="clicks", ylabel=NAMES[column - 1])
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].legend(frameon=False, fontsize=8)
    figure.suptitle(
        f"{title}: test side, mean and standard error over splits and seeds", fontsize=9
    )
    figure.savefig(path, dpi=110)
