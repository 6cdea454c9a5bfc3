"""The whole journey on the built-in dataset: clicks, pseudo-labels, training, decoding, report."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from uvast.benchmark.cell import ScoreColumns, score_decodings
from uvast.benchmark.reproduce import pseudo_label_scores
from uvast.config import Config, load_config
from uvast.data import Dataset, generate_dataset
from uvast.errors import OutputError, UvastError
from uvast.evaluation.pseudo_labels import methods_to_compare
from uvast.files import write_text
from uvast.inference import load
from uvast.inference.named_decodings import named_decodings
from uvast.report import write_page
from uvast.report.of_run import report_run
from uvast.supervision import PseudoLabelOptions
from uvast.training import train

if TYPE_CHECKING:
    from pathlib import Path

    from uvast.training import Watcher

MARK = ".uvast-demo"
SPLIT = 1
BASELINE = "TCN, frame by frame"
FULL = "UVAST, full labels"
CLICKS = "UVAST, one click per action"
DECODED = ("frames", "alignment", "viterbi", "fifa", "semi-markov", "best")

FAST_DATA = {"n_videos": 12, "n_frames": 150, "n_subjects": 4, "n_splits": 2}
FAST_TRAINING = ("train.epochs=3", "train.alignment_epochs=2", "model.n_encoder_layers=6")


class Narrator(Protocol):
    """Whoever tells the user what happens."""

    def chapter(self, text: str) -> None:
        """A new part of the journey begins."""
        ...

    def watcher(self, name: str) -> Watcher:
        """Follows the training of one model."""
        ...


@dataclass(frozen=True)
class DemoResult:
    """What the journey gave.

    Args:
        data: the generated dataset.
        pseudo_labels: method to scores against the training side's true labels.
        scores: model and decoding to scores on the test side.
        report: the page.
        run: the run folder of the model with full labels.
    """

    data: Path
    pseudo_labels: dict[str, ScoreColumns]
    scores: dict[tuple[str, str], ScoreColumns]
    report: Path
    run: Path


def clear_place(out: Path, *, overwrite: bool) -> None:
    """Makes sure that a demo can begin here; only an earlier demo is ever removed."""
    if not out.exists() or not any(out.iterdir()):
        return
    if not overwrite or not (out / MARK).exists():
        raise OutputError(
            "is not empty",
            where=out,
            remedy="choose another --out, or replace an earlier demo with --overwrite",
        )
    shutil.rmtree(out)


def demo(
    out: Path, narrator: Narrator, *, seed: int = 0, fast: bool = False, device: str = "auto"
) -> DemoResult:
    """Runs the journey in a new or empty folder; the same by seed on one machine.

    `fast` takes smaller data and trains less, for tests.
    """
    write_text(out / MARK, "made by uvast demo\n")
    narrator.chapter("generating videos: steps of four recipes, with noise, drift and style")
    generate_dataset(out / "data", seed=seed, **(FAST_DATA if fast else {}))
    dataset = Dataset.open(out / "data")
    narrator.chapter("pseudo-labels for the training videos, from one click per action")
    clicks = dataset.timestamps()
    pseudo_labels = {
        name: pseudo_label_scores(dataset, SPLIT, clicks, options)
        for name, options in methods_to_compare(PseudoLabelOptions()).items()
    }
    scores: dict[tuple[str, str], ScoreColumns] = {}
    for name, (config, decodings) in _models(seed, fast=fast).items():
        narrator.chapter(f"training: {name}")
        run, watcher = _run_folder(out, name), narrator.watcher(name)
        train(dataset, run, config=config, split=SPLIT, device=device, watcher=watcher)
        model = load(run, device=device)
        for decoding, found in score_decodings(model, dataset, SPLIT, named_decodings(decodings)):
            if isinstance(found, UvastError):
                raise found
            scores[name, decoding] = found
    narrator.chapter("writing the report")
    run = _run_folder(out, FULL)
    page = out / "report.html"
    write_page(report_run(run, split=SPLIT, pseudo_labels=True, device=device), page)
    return DemoResult(out / "data", pseudo_labels, scores, page, run)


def _run_folder(out: Path, name: str) -> Path:
    return out / name.lower().replace(",", "").replace(" ", "-")


def _models(seed: int, *, fast: bool) -> dict[str, tuple[Config, tuple[str, ...]]]:
    more = (f"train.seed={seed}", *(FAST_TRAINING if fast else ()))
    plain = ("model.n_stages=1", "loss.smoothing=0", "train.epochs=20")
    clicks = ("supervision.kind=timestamps",)
    return {
        BASELINE: (load_config("ms-tcn", settings=(*plain, *more)), ("frames",)),
        FULL: (load_config("demo", settings=more), DECODED),
        CLICKS: (load_config("demo", settings=(*clicks, *more)), DECODED),
    }
