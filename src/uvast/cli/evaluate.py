"""`uvast evaluate`: scores of a folder of predictions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli.console import note, print_json, print_table
from uvast.cli.options import JsonOption, ProtocolName, ProtocolOption, refresh_labels
from uvast.errors import counted

if TYPE_CHECKING:
    from uvast.data import Dataset
    from uvast.evaluation import ClassScores, Evaluation, Scores
    from uvast.evaluation.segment_errors import SegmentErrors
    from uvast.segments import IntArray
    from uvast.vocabulary import Vocabulary


def evaluate(
    predictions: Annotated[
        Path,
        typer.Argument(metavar="PREDICTIONS", help="Folder of predictions: VIDEO.txt or VIDEO."),
    ],
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="The dataset's folder.")],
    split: Annotated[
        int | None,
        typer.Option(
            help="Score the test side of one split.",
            show_default="the one that was predicted, or the mean over all",
        ),
    ] = None,
    protocol: ProtocolOption = ProtocolName.standard,
    per_class: Annotated[bool, typer.Option("--per-class", help="Also show F1 per class.")] = False,
    per_video: Annotated[
        bool, typer.Option("--per-video", help="Also show each video's scores, worst first.")
    ] = False,
    errors: Annotated[
        bool,
        typer.Option("--errors", help="Also count missing, extra, confused or badly cut segments."),
    ] = False,
    confusion: Annotated[
        Path | None,
        typer.Option(help="Write the frame confusion (rows: true classes) to this CSV file."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a confusion file that exists.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Score predictions: Acc, Edit and F1@10/25/50.

    A prediction is a file that uvast segment wrote, or a text file at the original frame rate or at
    the dataset's sampling rate: one label per line, or the MS-TCN recognition format (a header
    line, then all labels on one line). Predictions of split N may be in a folder `splitN` or
    `split_N`. Videos that the model was trained on are counted and marked.

    For example:

    ```
    uvast evaluate predictions/ data/gtea

    # one split, class by class
    uvast evaluate predictions/ data/gtea --split 1 --per-class

    # where it goes wrong
    uvast evaluate predictions/ data/gtea --errors

    # as published
    uvast evaluate results/ data/50salads --protocol legacy --json
    ```
    """
    from uvast.data import Dataset
    from uvast.evaluation import evaluate_in_detail
    from uvast.evaluation.scores import HEADINGS, score_row
    from uvast.files import check_absent
    from uvast.report.provenance import manifest_of, predicted_split

    if confusion is not None and not overwrite:
        check_absent(confusion)
    refresh_labels(dataset)
    opened = Dataset.open(dataset)
    if split is None:
        split = predicted_split(manifest_of(predictions), opened.path)
    found = evaluate_in_detail(
        predictions,
        opened,
        split,
        protocol=protocol.value,
        per_class=per_class,
        confusion=confusion is not None,
        errors=errors,
    )
    found, n_seen = _checked_for_training(found, predictions, opened)
    if confusion is not None and found.scores.confusion is not None:
        _write_confusion(confusion, found.scores.confusion, opened.vocabulary)
    if as_json:
        values = {**_as_json(found, per_video=per_video), "transductive": n_seen}
        if found.errors is not None:
            values["errors"] = found.errors.as_dict(opened.vocabulary)
        print_json(values)
        return
    title = f"{opened.name}, {counted(found.scores.n_videos, 'video')}, {protocol.value} protocol"
    headings = list(HEADINGS.values())
    rows = [[f"split {number}", *score_row(one.columns())] for number, one in found.splits.items()]
    if len(rows) != 1:
        rows.append(["mean" if rows else "all videos", *score_row(found.scores.columns())])
    print_table(title, ["", *headings], rows)
    if found.scores.per_class is not None:
        columns = ["class", *headings[:3], "true", "predicted"]
        print_table("Classes", columns, [_class_row(one) for one in found.scores.per_class])
    if found.errors is not None:
        _print_errors(found.errors, opened.vocabulary)
    if per_video:
        _print_videos(found, headings)


def _checked_for_training(
    found: Evaluation, predictions: Path, dataset: Dataset
) -> tuple[Evaluation, int]:
    """Marks videos that the model was trained on, and notes these and unfamiliar feature files.

    Returns:
        The marked scores, and how many videos the model saw without their labels.
    """
    from uvast.evaluation import folder_of_split
    from uvast.report.provenance import (
        learned_by_model,
        manifest_of,
        seen_by_model,
        transductive_note,
        unfamiliar_files,
    )

    manifests = {
        number: manifest_of(folder_of_split(predictions, number))
        for number in found.splits or [None]
    }
    found = found.marked(
        {number: learned_by_model(one, dataset.path) for number, one in manifests.items()}
    )
    scored = [one.video for one in found.videos]
    strange = [file for one in manifests.values() for file in unfamiliar_files(one, scored)]
    seen = {number: seen_by_model(one, dataset.path) for number, one in manifests.items()}
    n_seen = sum(one.video in seen.get(one.split, ()) for one in found.videos)
    _print_notes(dataset, found, strange, transductive_note(len(found.videos), n_seen))
    return found, n_seen


def _print_errors(errors: SegmentErrors, vocabulary: Vocabulary) -> None:
    from uvast.evaluation.segment_errors import KINDS

    rows = []
    for kind, title in KINDS.items():
        often = [] if kind == "named" else errors.most_frequent(kind, vocabulary)
        most = ", ".join(f"{name} {n}" for name, n in often)
        rows.append([title, *_share(getattr(errors, kind), errors), most])
    title = f"Segments: {errors.n_true} true, {errors.n_predicted} predicted"
    print_table(title, ["", "segments", "% of true", "most often"], rows)
    half, most_of_them = errors.late(0.5), errors.late(0.9)
    if half is not None:
        note(
            f"correctly named segments start within {half:.0f} frames of the truth (half of them), "
            f"or {most_of_them:.0f} (90 %)"
        )


def _share(counts: IntArray, errors: SegmentErrors) -> list[str]:
    n = int(counts.sum())
    return [str(n), f"{100 * n / errors.n_true:.1f}" if errors.n_true else "–"]


def _print_videos(found: Evaluation, headings: list[str]) -> None:
    from uvast.evaluation.scores import score_row

    several, learned = len(found.splits) > 1, found.n_in_training > 0
    columns = ["video", *["split"] * several, "frames", *headings, *["training"] * learned]
    rows = [
        [
            one.video,
            *[str(one.split)] * several,
            str(one.n_frames),
            *score_row(one.scores.columns()),
            *["used" if one.in_training else ""] * learned,
        ]
        for one in found.videos
    ]
    print_table("Videos, the worst first", columns, rows)


def _print_notes(
    dataset: Dataset, found: Evaluation, strange: list[str], transductive: str | None
) -> None:
    """Notes what affects the scores but does not show in them."""
    from uvast.data.labelled import unlabelled_note
    from uvast.report.provenance import training_note, unfamiliar_note

    learned = training_note(len(found.videos), found.n_in_training)
    for sentence in (learned, transductive, unfamiliar_note(strange)):
        if sentence is not None:
            note(f"warning: {sentence[0].lower()}{sentence[1:]}")
    scored = dict.fromkeys(one.video for one in found.videos)
    left_out = unlabelled_note(found.unlabelled), dataset.partial_summary(scored)
    for summary in (*left_out, dataset.trim_summary()):
        if summary is not None:
            note(f"note: {summary}")
    if dataset.vocabulary.background and dataset.spec.background is None:
        note(
            "note: class 'background' is left out of Edit and F1; to count it like any action, "
            "write background = [] in dataset.toml"
        )


def _as_json(found: Evaluation, *, per_video: bool) -> dict[str, object]:
    values = _without_confusion(found.scores)
    values["in_training"] = found.n_in_training
    values["unlabelled"] = list(found.unlabelled)
    values["splits"] = {number: _without_confusion(one) for number, one in found.splits.items()}
    if per_video:
        values["per_video"] = [one.as_dict() for one in found.videos]
    return values


def _without_confusion(scores: Scores) -> dict[str, object]:
    """For JSON; the confusion has a file of its own."""
    return replace(scores, confusion=None).as_dict()


def _class_row(one: ClassScores) -> list[str]:
    f1 = ["–" if value != value else f"{value:.1f}" for value in one.f1.values()]
    return [one.name, *f1, str(one.n_true), str(one.n_predicted)]


def _write_confusion(path: Path, frames: IntArray, classes: Vocabulary) -> None:
    import csv
    import io

    from uvast.files import write_text

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["true", *classes.names])
    writer.writerows([name, *row] for name, row in zip(classes.names, frames.tolist(), strict=True))
    write_text(path, text.getvalue())
    note(f"wrote {path}")
