"""`uvast demo`: the whole journey on built-in data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli.console import note, print_json, print_table, progress_bar
from uvast.cli.options import DeviceOption, JsonOption
from uvast.cli.train import TrainingBar

if TYPE_CHECKING:
    from rich.progress import Progress

    from uvast.benchmark.demo import DemoResult
    from uvast.training import Watcher


def demo(
    out: Annotated[
        Path, typer.Option(help="A new folder for the data, the models and the report.")
    ] = Path("uvast-demo"),
    seed: Annotated[int, typer.Option(help="Random seed of data and training.")] = 0,
    fast: Annotated[bool, typer.Option("--fast", help="Train very little, for tests.")] = False,
    device: DeviceOption = "auto",
    show: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the folder of an earlier demo.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Try everything in three minutes: clicks, pseudo-labels, training, decoding, report.

    Example: `uvast demo --open`
    """
    from uvast.benchmark.demo import clear_place, demo

    clear_place(out, overwrite=overwrite)
    with progress_bar() as progress:
        result = demo(out, _Narrator(progress), seed=seed, fast=fast, device=device)
    if as_json:
        print_json(_as_json(result))
    else:
        _print(result, out)
    if show:
        typer.launch(result.report.resolve().as_uri())


class _Narrator:
    """Chapters as notes, training as progress bars."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def chapter(self, text: str) -> None:
        note(f"· {text}")

    def watcher(self, name: str) -> Watcher:
        return TrainingBar(self._progress, name)


def _print(result: DemoResult, out: Path) -> None:
    from uvast.evaluation.scores import HEADINGS, score_row

    columns = list(HEADINGS.values())
    rows = [[name, *score_row(scores)] for name, scores in result.pseudo_labels.items()]
    print_table("Pseudo-labels from one click per action", ["method", *columns], rows)
    rows = [
        [model, decoding, *score_row(scores)] for (model, decoding), scores in result.scores.items()
    ]
    print_table("Unseen videos", ["model", "decoding", *columns], rows)
    note(f"the report: {result.report}")
    note(f"your turn: uvast data check YOUR-DATA, then uvast train YOUR-DATA --out {out}/mine")


def _as_json(result: DemoResult) -> dict[str, object]:
    return {
        "pseudo_labels": result.pseudo_labels,
        "scores": [
            {"model": model, "decoding": decoding, **scores}
            for (model, decoding), scores in result.scores.items()
        ],
        "report": str(result.report),
        "run": str(result.run),
        "data": str(result.data),
    }
