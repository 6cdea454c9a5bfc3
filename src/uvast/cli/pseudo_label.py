"""`uvast pseudo-label`: full labels from one annotated frame per action."""

from __future__ import annotations

import shlex
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli.console import note, print_json, print_table, progress_bar
from uvast.cli.options import JsonOption, TimestampsOption, refresh_labels, run_of
from uvast.errors import InputError, command, counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uvast.data import Dataset, Timestamps
    from uvast.evaluation import Scores
    from uvast.inference import Segmenter
    from uvast.segments import Segmentation
    from uvast.supervision import PseudoLabelOptions
    from uvast.supervision.targets import Features


class Method(str, Enum):
    """How frames between timestamps get their labels."""

    class_model = "class-model"
    k_medoids = "k-medoids"
    energy = "energy"
    midpoint = "midpoint"


class Metric(str, Enum):
    """How frames are compared."""

    euclidean = "euclidean"
    cosine = "cosine"


class FeatureKind(str, Enum):
    """Which features frames are compared by."""

    input = "input"
    encoder = "encoder"
    both = "both"


def pseudo_label(
    dataset: Annotated[Path, typer.Argument(help="Folder of the dataset.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Folder for the pseudo-labels.", show_default=False)],
    timestamps: TimestampsOption = None,
    sample_timestamps: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="SEED",
            help="Draw one frame of each true segment instead, with this seed.",
        ),
    ] = None,
    features: Annotated[
        FeatureKind, typer.Option(help="The dataset's features, a model's, or both together.")
    ] = FeatureKind.input,
    model: Annotated[
        Path | None, typer.Option(metavar="RUN", help="The model, for encoder features.")
    ] = None,
    method: Annotated[
        Method, typer.Option(help="How frames between timestamps get their labels.")
    ] = Method.class_model,
    metric: Annotated[Metric, typer.Option(help="How frames are compared.")] = Metric.euclidean,
    prior: Annotated[
        float,
        typer.Option(
            min=0,
            help="How strongly cuts are pulled to the midpoint or, with class-model, to where mean "
            "lengths divide a gap; 0 is the paper's k-medoids.",
        ),
    ] = 0.25,
    offsets: Annotated[
        float,
        typer.Option(
            min=0,
            help="With class-model, how far from where features change people usually cut, as a "
            "share of an action's mean length; 0 cuts where features change.",
        ),
    ] = 0.05,
    table: Annotated[
        bool, typer.Option(help="Score every method where there is ground truth.")
    ] = True,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace all pseudo-labels that exist.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make labels for every frame from one annotated frame per action.

    Writes groundTruth/VIDEO.txt at the original frame rate, mapping.txt and dataset.toml, for you
    to look at and for other tools; uvast train makes its own. Where the dataset has ground truth,
    a table compares the methods with it.

    For example:

    ```
    uvast pseudo-label data/gtea --out pseudo

    # the paper's method
    uvast pseudo-label data/mine --method k-medoids --prior 0 --out pseudo

    # your own clicks
    uvast pseudo-label data/mine --timestamps clicks.csv --out pseudo

    # by the features of a model
    uvast pseudo-label data/gtea --features encoder --model runs/1 --out pseudo
    ```
    """
    from uvast.data import Dataset
    from uvast.evaluation.scores import HEADINGS, score_row
    from uvast.supervision import PseudoLabelOptions
    from uvast.supervision.output import check_output, write_pseudo_labels

    refresh_labels(dataset)
    opened = Dataset.open(dataset)
    for fault in opened.skipped:
        note(str(fault))
    check_output(out, opened, timestamps, overwrite=overwrite)
    segmenter = _model(features, model)
    if segmenter is not None:
        opened = opened.at_rate(segmenter.sampling_rate)
    entries = _timestamps(opened, timestamps, sample_timestamps)
    inputs = None if segmenter is None else _features(opened, list(entries), features, segmenter)
    chosen = PseudoLabelOptions(method.value, metric.value, prior, offsets)
    labelled = _labelled(opened, entries, chosen, inputs)
    scores: dict[str, Scores] = {}
    known = {name: made for name, made in labelled.items() if opened.has_labels(name)}
    if table and known:
        scores = _compare(opened, entries, chosen, known, inputs)
    # last, so that an error of any kind leaves nothing behind
    drawn = entries if sample_timestamps is not None else None
    write_pseudo_labels(out, opened, labelled, drawn)
    videos = list(dict.fromkeys(map(opened.video_of, entries)))
    n_scored = len(set(map(opened.video_of, known)))
    if scores and n_scored < len(videos):
        note(f"the scores are of the {n_scored} of {len(videos)} videos that have labels")
    if as_json:
        rows = {row: one.as_dict() for row, one in scores.items()}
        print_json({"out": str(out), "videos": videos, "scores": rows})
        return
    if scores:
        title = f"{opened.name}, {counted(n_scored, 'video')}, pseudo-labels against ground truth"
        printed = [[row, *score_row(one.columns())] for row, one in scores.items()]
        print_table(title, ["", *HEADINGS.values()], printed)
    note(f"wrote {counted(len(videos), 'video')} to {out}")
    if model is None and drawn is None:
        note(f"training makes the same by itself: {_training(dataset, timestamps, chosen)}")
    else:
        link = shlex.join(("ln", "-s", str(dataset.absolute() / "features"), str(out / "features")))
        train = command("train", out, "--out", "RUN")
        note(f"to train on them, add the features: {link} && {train}")


def _training(dataset: Path, timestamps: Path | None, chosen: PseudoLabelOptions) -> str:
    """The training that makes the same pseudo-labels."""
    from uvast.config import SupervisionConfig

    clicks = () if timestamps is None else ("--timestamps", timestamps)
    settings = [
        ("--set", f"supervision.{name}={getattr(chosen, name)}")
        for name in ("method", "metric", "prior", "offsets")
        if getattr(chosen, name) != getattr(SupervisionConfig, name)
    ]
    words = (dataset, "--supervision", "timestamps", *clicks, *chain(*settings), "--out", "RUN")
    return command("train", *words)


def _timestamps(dataset: Dataset, path: Path | None, seed: int | None) -> dict[str, Timestamps]:
    """Timestamps at the model's rate, as given or drawn."""
    import numpy as np

    from uvast.data import Timestamps
    from uvast.data.faults import some
    from uvast.data.timestamp_files import ignored_timestamps
    from uvast.supervision import full_segmentations

    if seed is None:
        if path is None and (ignored := ignored_timestamps(dataset.path)):
            note(ignored)
        found = dataset.timestamps(path)
        clicked = {dataset.video_of(sample) for sample in found}
        bare = [name for name in dataset.names if name not in clicked]
        if bare:
            note(f"left out, since they have no timestamps: {some(bare)}")
        if (partial := dataset.partial_summary(sorted(clicked))) is not None:
            note(partial)
        return found
    if path is not None:
        raise InputError(
            "--timestamps and --sample-timestamps exclude each other", remedy="choose one of them"
        )
    generator = np.random.default_rng(seed)
    bare = [name for name in dataset.names if not dataset.has_labels(name)]
    if bare:
        note(f"left out, since they have no labels: {some(bare)}")
    labelled = [name for name in dataset.names if name not in bare]
    samples = [sample for name in labelled for sample in dataset.samples(name)]
    return {
        name: Timestamps(true.sampled_timestamps(generator), true.transcript)
        for name, true in full_segmentations(dataset, samples).items()
    }


def _model(kind: FeatureKind, model: Path | None) -> Segmenter | None:
    """The model whose encoder gives the features; None for the dataset's own features."""
    if model is None and kind is not FeatureKind.input:
        raise InputError(f"{kind.value} features need a model", remedy="pass --model RUN")
    if model is None:
        return None
    if kind is FeatureKind.input:
        raise InputError(
            "--model is given, but input features need no model",
            remedy="pass --features encoder or both",
        )
    from uvast.inference import load

    return load(run_of(model))


def _features(
    dataset: Dataset, names: list[str], kind: FeatureKind, segmenter: Segmenter
) -> Mapping[str, Features]:
    """Features by video, at the model's rate."""
    from uvast.supervision import JoinedFeatures

    encoded: dict[str, Features] = {}
    with progress_bar() as progress:
        task = progress.add_task("encoding", total=len(names))
        for name in names:
            video = dataset.video(name, labels=False)
            encoded[name] = segmenter.encode_batch([video]).frames[0].features
            progress.advance(task)
    return encoded if kind is FeatureKind.encoder else JoinedFeatures(dataset, encoded)


def _labelled(
    dataset: Dataset,
    timestamps: Mapping[str, Timestamps],
    options: PseudoLabelOptions,
    features: Mapping[str, Features] | None,
) -> dict[str, Segmentation]:
    """Pseudo-segmentations at the source rate, made with a progress bar."""
    from uvast.evaluation.pseudo_labels import make_pseudo_labels

    with progress_bar() as bar:
        task = bar.add_task("pseudo-labels", total=None)
        found = make_pseudo_labels(
            dataset,
            timestamps,
            options,
            features=features,
            progress=lambda n_done, n_most: bar.update(task, completed=n_done, total=n_most),
        )
        bar.remove_task(task)  # class models may need fewer rounds than the bar has
    return found


def _compare(
    dataset: Dataset,
    timestamps: Mapping[str, Timestamps],
    chosen: PseudoLabelOptions,
    labelled: Mapping[str, Segmentation],
    features: Mapping[str, Features] | None,
) -> dict[str, Scores]:
    """The paper's table: every method against the ground truth, pooled over `labelled` videos."""
    from uvast.evaluation.pseudo_labels import (
        make_pseudo_labels,
        methods_to_compare,
        score_pseudo_labels,
    )

    rows = methods_to_compare(chosen)
    scores: dict[str, Scores] = {}
    with progress_bar() as progress:
        task = progress.add_task("comparing", total=len(rows))
        for row in rows:
            found = labelled
            if rows[row] != chosen:
                found = make_pseudo_labels(
                    dataset, timestamps, rows[row], videos=labelled, features=features
                )
            scores[row] = score_pseudo_labels(dataset, found).scores
            progress.advance(task)
    return scores
