"""The curves of `label_next.py`: as a table, as differences run by run, and as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    Round = dict[str, Any]
    Table = dict[str, list[Round]]
    """The rounds of `split/seed/strategy`."""

RANDOM = "random moment"
STRATEGIES = ("label next", RANDOM, "least sure", "random video")
SCORES = ("acc", "edit", "f1@50")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#999999")


def mean_curves(table: Table) -> dict[str, np.ndarray]:
    """Of each strategy: clicks and scores of every round and run `(n_runs, n_rounds, 4)`."""
    found = {}
    for strategy in STRATEGIES:
        runs = [rounds for key, rounds in table.items() if key.endswith(f"/{strategy}")]
        n_rounds = min((len(rounds) for rounds in runs), default=0)
        columns = ("clicks", *SCORES)
        found[strategy] = np.array(
            [[[one[column] for column in columns] for one in run[:n_rounds]] for run in runs]
        )
    return found


def print_table(curves: Mapping[str, np.ndarray]) -> None:
    """Means over splits and seeds after each round, and the standard error of Acc's mean."""
    print(f"{'':14} {'round':>5} {'clicks':>6} {'Acc':>11} {'Edit':>5} {'F1@50':>5}")
    for strategy, values in curves.items():
        errors = values[:, :, 1].std(axis=0) / max(1, len(values) - 1) ** 0.5
        for number, (n_clicks, acc, edit, f1) in enumerate(values.mean(axis=0).tolist()):
            spread = f"{acc:5.1f} ± {errors[number]:3.1f}"
            print(f"{strategy:14} {number:5} {n_clicks:6.0f} {spread} {edit:5.1f} {f1:5.1f}")


def print_differences(curves: Mapping[str, np.ndarray]) -> None:
    """How far each is from a random moment, run by run: means over the rounds, standard errors.

    Runs of one split and seed start from the same clicks, which makes most of what differs.
    """
    base = curves[RANDOM][:, 1:, 1:].mean(axis=1)
    for strategy in ("label next", "least sure"):
        apart = curves[strategy][:, 1:, 1:].mean(axis=1) - base
        errors = apart.std(axis=0) / max(1, len(apart) - 1) ** 0.5
        pairs = zip(("Acc", "Edit", "F1@50"), apart.mean(axis=0), errors, strict=True)
        shown = ", ".join(f"{name} {mean:+.1f} ± {error:.1f}" for name, mean, error in pairs)
        print(f"{strategy} against {RANDOM}, {len(apart)} runs: {shown}")


def draw(curves: Mapping[str, np.ndarray], title: str, path: Path) -> None:
    """Acc and F1@50 over clicks: means, and bands of a standard deviation over the runs."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    for axes, column, name in zip(figure.subplots(1, 2), (1, 3), ("Acc", "F1@50"), strict=True):
        for (strategy, values), colour in zip(curves.items(), COLOURS, strict=True):
            means, spread = values.mean(axis=0), values[:, :, column].std(axis=0)
            x, y = means[:, 0], means[:, column]
            axes.plot(x, y, color=colour, marker="o", markersize=3, label=strategy)
            axes.fill_between(x, y - spread, y + spread, color=colour, alpha=0.12, linewidth=0)
        axes.set(xlabel="clicks", ylabel=name)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].legend(frameon=False, fontsize=8)
    figure.suptitle(
        f"{title}: scores on the test side, mean and deviation over splits and seeds", fontsize=9
    )
    figure.savefig(path, dpi=110)
