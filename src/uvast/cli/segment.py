"""`uvast segment`: videos to segmentations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli import options
from uvast.cli.console import counted, note, print_json, print_table, progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uvast.inference import Outcome, Prediction
    from uvast.inference.output import Manifest


def segment(
    model: Annotated[Path, typer.Argument(help="A run folder, a project, or a .safetensors file.")],
    inputs: Annotated[
        list[Path],
        typer.Argument(
            help="Datasets, .npy feature files, or folders of them.", show_default=False
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the predictions.")],
    split: Annotated[
        int | None,
        typer.Option(
            help="Only the test side of this split of the dataset.", show_default="all videos"
        ),
    ] = None,
    transcript: Annotated[
        str | None,
        typer.Option(
            help="Where the order of actions comes from: decoder, semi-markov, best (a beam of "
            "5) or frames.",
            show_default="the model's own",
        ),
    ] = None,
    durations: Annotated[
        str | None,
        typer.Option(
            help="Where durations come from: viterbi, fifa, alignment, explicit or none; "
            "semi-markov and best find their own.",
            show_default="the model's own",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Change another decoding setting, such as beam_width=5; may be given several "
            "times.",
        ),
    ] = None,
    formats: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="What to write: txt (one label per frame), csv, json; separate them with commas.",
            show_default="txt,json; only json if there are no durations",
        ),
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Videos encoded together.")] = 8,
    workers: options.WorkersOption = 0,
    engine: options.EngineOption = options.EngineName.local,
    address: options.AddressOption = "auto",
    cpus: options.CpusOption = 1,
    gpus: options.GpusOption = 0,
    device: options.DeviceOption = "auto",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace existing predictions.")
    ] = False,
    as_json: options.JsonOption = False,
) -> None:
    """Segment videos with a trained model.

    A file that cannot be segmented is reported and skipped; the exit code is then 1. Start the
    same command again after a break, and it segments what is missing. OUT/segmentation.json says
    which model made the predictions, and how.

    Example: `uvast segment runs/gtea-1 data/gtea --split 1 --out predictions`

    New videos: `uvast segment runs/gtea-1 features/*.npy --out predictions --format csv`

    Best quality: `uvast segment runs/gtea-1 features/ --transcript best --out predictions`

    On a cluster: `uvast segment /nfs/run /nfs/features --out /nfs/predictions --engine ray`
    """
    from uvast.inference import load
    from uvast.inference.inputs import DatasetVideo, find_sources
    from uvast.inference.output import parse_formats
    from uvast.inference.pipeline import segment_all
    from uvast.inference.prediction_folder import (
        PredictionFolder,
        check_place,
        make_manifest,
        named,
    )

    model = options.run_of(model)
    # the cluster's nodes have the devices, this machine only looks at the model
    segmenter = load(model, device="cpu" if engine is options.EngineName.ray else device)
    decoding = segmenter.parsed_options(settings or [], transcript=transcript, durations=durations)
    chosen_formats = parse_formats(formats, bare=decoding.is_bare)
    found_sources = find_sources(
        [path.absolute() for path in inputs] if engine is options.EngineName.ray else inputs,
        n_features=segmenter.n_features,
        sampling_rate=segmenter.sampling_rate,
        split=split,
    )
    sources, nameless = named(found_sources)
    for dataset in {one.dataset for one in sources if isinstance(one, DatasetVideo)}:
        for fault in dataset.skipped:
            note(f"skipped: {fault}")
    check_place(out, sources, chosen_formats)
    manifest = make_manifest(model, sources, decoding, chosen_formats, split=split)
    folder = PredictionFolder(out, manifest, overwrite=overwrite)
    left = folder.left(sources)
    _tell_what_is_known(manifest, n_left=len(left))
    if engine is options.EngineName.ray:
        from uvast.inference.cluster import Cluster, segment_on_cluster

        cluster = Cluster(address, cpus, gpus)
        found = segment_on_cluster(
            model, left, decoding, cluster=cluster, batch_size=batch_size, device=device
        )
    else:
        found = segment_all(segmenter, left, decoding, batch_size=batch_size, workers=workers)
    outcomes = list(nameless)
    with progress_bar() as progress:
        task = progress.add_task("segmenting", total=len(left))
        for outcome in found:
            if outcome.prediction is not None:
                folder.write(outcome.name, outcome.prediction)
            outcomes.append(outcome)
            progress.advance(task)
    folder.finish(one.name for one in outcomes if one.error is None)
    _report(sorted(outcomes, key=lambda one: one.name), out, manifest, as_json=as_json)
    if any(outcome.error for outcome in outcomes):
        raise typer.Exit(1)


def _tell_what_is_known(manifest: Manifest, *, n_left: int) -> None:
    n_videos = len(manifest.videos)
    if n_left < n_videos:
        note(
            f"{n_videos - n_left} of {counted(n_videos, 'video')} segmented earlier; "
            "pass --overwrite to segment all again"
        )
    n_trained = len(manifest.videos.keys() & set(manifest.train))
    if n_trained:
        note(
            f"the model was trained on {n_trained} of {counted(n_videos, 'video')}, going by their "
            "names: it does better there than on new videos"
        )


def _report(outcomes: Iterable[Outcome], out: Path, manifest: Manifest, *, as_json: bool) -> None:
    done = {one.name: one.prediction for one in outcomes if one.prediction is not None}
    failed = {one.name: str(one.error) for one in outcomes if one.error is not None}
    for sentence in failed.values():
        note(f"skipped: {sentence}")
    capped = [name for name, prediction in done.items() if not prediction.complete]
    if capped:
        note(
            f"{counted(len(capped), 'video')} may lack the last actions (first: {capped[0]}); "
            "allow more with --set max_segments=…"
        )
    if as_json:
        print_json(
            {
                "out": str(out),
                "videos": {name: one.as_dict() for name, one in done.items()},
                "skipped": failed,
                "earlier": sorted(manifest.videos.keys() - done.keys() - failed.keys()),
                "trained_on": sorted(manifest.videos.keys() & set(manifest.train)),
            }
        )
        return
    if done:
        title = f"{counted(len(done), 'video')} in {out}, least confident first"
        by_confidence = sorted(done.items(), key=lambda item: item[1].confidence or 0.0)
        rows = [_row(name, one) for name, one in by_confidence]
        print_table(title, ["video", "segments", "confidence"], rows)


def _row(name: str, one: Prediction) -> list[str]:
    confidence = "–" if one.confidence is None else f"{one.confidence:.2f}"
    return [name, str(len(one.transcript)), confidence]
