"""The whole journey on generated videos, one command after the other, and its scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from uvast.benchmark.decoded_scores import ScoreColumns, score_decodings
from uvast.benchmark.demo_world import SPLIT, DemoPlace
from uvast.benchmark.reproduce import pseudo_label_scores
from uvast.config import Config, load_config
from uvast.data import Dataset
from uvast.errors import UvastError
from uvast.evaluation.pseudo_labels import methods_to_compare
from uvast.inference import load
from uvast.inference.named_decodings import named_decodings
from uvast.supervision import PseudoLabelOptions
from uvast.training import train

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from uvast.training import Watcher

BASELINE = "TCN, frame by frame"
FULL = "UVAST, full labels"
CLICKS = "UVAST, one click per action"
DECODED = ("frames", "alignment", "viterbi", "fifa", "semi-markov", "best")
FAST_TRAINING = ("train.epochs=3", "train.alignment_epochs=2", "model.n_encoder_layers=6")


@dataclass(frozen=True)
class Step:
    """A command of the journey: what it is for, and its words after `uvast`."""

    purpose: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class DemoResult:
    """The scores at the end of the journey.

    Args:
        pseudo_labels: method to scores against the true labels of the videos learned from.
        scores: model and decoding to scores on the new videos.
    """

    pseudo_labels: dict[str, ScoreColumns]
    scores: dict[tuple[str, str], ScoreColumns]


def steps_to_predictions(place: DemoPlace, *, seed: int, fast: bool, device: str) -> Iterator[Step]:
    """From video files to the actions of new ones; `fast` trains less, for tests."""
    project = str(place.project)
    options = [word for setting in FAST_TRAINING * fast for word in ("--set", setting)]
    options += ["--seed", str(seed)] * bool(seed)
    on_device = () if device == "auto" else ("--device", device)
    yield Step("a project of the videos", ("init", project, "--videos", str(place.videos)))
    yield Step("features of every video", ("extract", project, "--model", "pixels"))
    yield Step("one click per action", ("import", project, str(place.clicks)))
    yield Step(
        "a model, from the clicks alone",
        (
            *("train", project, "--supervision", "timestamps", "--preset", "demo"),
            *("--validation", "0", *options, *on_device),
        ),
    )
    yield Step(
        "the actions of new videos",
        (
            *("segment", project, str(place.new_videos), "--out", str(place.predictions)),
            *on_device,
        ),
    )


def steps_to_look(place: DemoPlace, run: Path, *, device: str) -> Iterator[Step]:
    """The commands whose output a person looks at; they need the truth."""
    video = min(place.new_videos.iterdir())
    prediction = place.predictions / f"{video.stem}.json"
    on_device = () if device == "auto" else ("--device", device)
    yield Step(
        "one of them with its actions drawn below",
        ("overlay", str(video), str(prediction), "--out", str(place.out / "annotated.mp4")),
    )
    yield Step(
        "a page about the model, with the pictures of the new videos",
        (
            *("report", str(run), "--dataset", str(place.truth), "--split", str(SPLIT)),
            *("--out", str(place.report), *on_device),
        ),
    )


def compare_models(
    place: DemoPlace,
    run: Path,
    watch: Callable[[str], Watcher],
    *,
    seed: int,
    fast: bool,
    device: str,
) -> DemoResult:
    """Scores the run against the truth, beside models trained on every frame's label.

    Args:
        place: the files of a finished journey.
        run: the model trained from clicks.
        watch: makes a watcher of a training from the model's name.
        seed: the training seed.
        fast: train less, for tests.
        device: where to train.
    """
    truth = Dataset.open(place.truth)
    clicks = truth.timestamps()
    pseudo_labels = {
        name: pseudo_label_scores(truth, SPLIT, clicks, options)
        for name, options in methods_to_compare(PseudoLabelOptions()).items()
    }
    runs = {}
    for name, config in _compared(seed, fast=fast).items():
        runs[name] = place.out / name.lower().replace(",", "").replace(" ", "-")
        train(truth, runs[name], config=config, split=SPLIT, device=device, watcher=watch(name))
    scores = {
        (name, decoding): found
        for name, one in {**runs, CLICKS: run}.items()
        for decoding, found in _scores(one, truth, name, device)
    }
    return DemoResult(pseudo_labels, scores)


def _scores(
    run: Path, truth: Dataset, name: str, device: str
) -> Iterator[tuple[str, ScoreColumns]]:
    decodings = named_decodings(("frames",) if name == BASELINE else DECODED)
    model, side = load(run, device=device), truth.side(SPLIT, "test")
    for decoding, found in score_decodings(model, truth, side, decodings):
        if isinstance(found, UvastError):
            raise found
        yield decoding, found


def _compared(seed: int, *, fast: bool) -> dict[str, Config]:
    more = (f"train.seed={seed}", *(FAST_TRAINING if fast else ()))
    plain = ("model.n_stages=1", "loss.smoothing=0", "train.epochs=20")
    return {
        BASELINE: load_config("ms-tcn", settings=(*plain, *more)),
        FULL: load_config("demo", settings=more),
    }
