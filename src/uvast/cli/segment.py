"""`uvast segment`: videos to segmentations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uvast.cli import options
from uvast.cli.console import note, print_json, print_table, progress_bar
from uvast.cli.extracting import extract_with_bar
from uvast.errors import DataError, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from uvast.features import Order
    from uvast.inference import Outcome, Prediction
    from uvast.inference.cluster import Cluster
    from uvast.inference.inputs import Source
    from uvast.inference.output import Manifest
    from uvast.inference.prediction_folder import PredictionFolder


def segment(
    model: Annotated[Path, typer.Argument(help="A run folder, a project, or a .safetensors file.")],
    inputs: Annotated[
        list[Path],
        typer.Argument(
            help="Videos, datasets, .npy feature files, or folders of them.", show_default=False
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
            help="Where the order of actions comes from: decoder, semi-markov, frames, boundaries, "
            "or best, which collects what the first three find and picks one by a vote.",
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
    workers: Annotated[
        int,
        typer.Option(
            min=0, help="Videos extracted, and threads that decode, at the same time; 0 for one."
        ),
    ] = 0,
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

    A file that cannot be segmented is reported and skipped; the exit code is then 1, or 2 if all
    were skipped. It is 0 if every video has its prediction, from now or earlier. After a break, run
    the same command again: it segments what is missing. OUT/segmentation.json says which model made
    the predictions, and how; OUT/features holds the features extracted from videos.

    For example:

    ```
    uvast segment runs/gtea-1 data/gtea --split 1 --out predictions

    # new videos, with a model whose features came from uvast extract
    uvast segment my-run videos/*.mp4 --out predictions --workers 4

    # feature files
    uvast segment my-run features/*.npy --out predictions --format csv

    # decoded in another way than the model's own
    uvast segment my-run features/ --transcript best --out predictions

    # on a cluster
    uvast segment /nfs/run /nfs/features --out /nfs/predictions --engine ray
    ```
    """
    from uvast.devices import n_cores
    from uvast.inference import load
    from uvast.inference.from_video import Extraction, find_inputs
    from uvast.inference.inputs import DatasetVideo
    from uvast.inference.output import parse_formats
    from uvast.inference.pipeline import segment_all
    from uvast.inference.prediction_folder import (
        PredictionFolder,
        check_place,
        make_manifest,
        named,
    )
    from uvast.report.provenance import unfamiliar_note

    model = options.run_of(model)
    # the cluster's nodes have the devices; this machine only inspects the model
    segmenter = load(model, device="cpu" if engine is options.EngineName.ray else device)
    decoding = segmenter.parsed_options(settings or [], transcript=transcript, durations=durations)
    chosen_formats = parse_formats(formats, bare=decoding.is_bare)
    n_threads = max(1, min(4, n_cores() // max(1, workers)))
    given = find_inputs(
        [path.absolute() for path in inputs] if engine is options.EngineName.ray else inputs,
        Extraction(segmenter.extractor, out / "features", device, n_threads, overwrite),
        n_features=segmenter.n_features,
        sampling_rate=segmenter.sampling_rate,
        split=split,
    )
    sources, nameless = named(given.sources)
    for dataset in {one.dataset for one in sources if isinstance(one, DatasetVideo)}:
        for fault in dataset.skipped:
            note(f"skipped: {fault}")
    check_place(out, sources, chosen_formats)
    manifest = make_manifest(model, sources, decoding, chosen_formats, split=split)
    folder = PredictionFolder(out, manifest, overwrite=overwrite)
    folder.left(sources)  # fails before hours of extraction if predictions are in the way
    cluster = None
    if engine is options.EngineName.ray:
        from uvast.inference.cluster import Cluster, segment_on_cluster

        cluster = Cluster(address, cpus, gpus)
    unread = _extract(given.orders, sources, workers=workers, cluster=cluster)
    failed = {one.name for one in unread}
    left = [one for one in folder.left(sources) if one.name not in failed]
    _tell_what_is_known(manifest, n_left=len(left) + len(failed))
    if cluster is not None:
        found = segment_on_cluster(
            model, left, decoding, cluster=cluster, batch_size=batch_size, device=device
        )
    else:
        found = segment_all(segmenter, left, decoding, batch_size=batch_size, workers=workers)
    outcomes = [*nameless, *unread, *_written(found, folder, len(left))]
    strange = [one.name for one in outcomes if not one.is_familiar]
    folder.finish((one.name for one in outcomes if one.error is None), strange)
    if sentence := unfamiliar_note([manifest.videos[name] for name in sorted(strange)]):
        note(f"warning: {sentence[0].lower()}{sentence[1:]}")
    outcomes.sort(key=lambda one: one.name)
    faults = [one.error for one in outcomes if one.error is not None]
    n_videos = len(manifest.videos) + len(nameless)
    is_single = n_videos == 1 and bool(faults)  # the error itself says it
    _report(outcomes, out, manifest, tells_skipped=not is_single, as_json=as_json)
    if is_single:
        raise faults[0]
    if len(faults) == n_videos:
        raise DataError(
            f"none of the {n_videos} videos can be segmented", remedy="the reasons are above"
        )
    if faults:
        raise typer.Exit(1)


def _extract(
    orders: Iterable[Order], sources: Iterable[Source], *, workers: int, cluster: Cluster | None
) -> list[Outcome]:
    """Extracts missing features of videos; returns the videos that cannot be read."""
    from uvast.inference.pipeline import Outcome

    wanted = {source.path for source in sources}
    ordered = [order for order in orders if order.features in wanted]
    if not ordered:
        return []
    title = f"extracting {','.join(map(str, ordered[0].models))}"
    done = extract_with_bar(ordered, title, processes=max(1, workers), cluster=cluster)
    return [Outcome(one.name, error=one.error) for one in done if one.error is not None]


def _written(found: Iterable[Outcome], folder: PredictionFolder, n_left: int) -> Iterator[Outcome]:
    """Writes predictions as they come, with a bar."""
    if not n_left:
        return
    with progress_bar() as progress:
        task = progress.add_task("segmenting", total=n_left)
        for outcome in found:
            if outcome.prediction is not None:
                folder.write(outcome.name, outcome.prediction)
            progress.advance(task)
            yield outcome


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


def _report(
    outcomes: Sequence[Outcome],
    out: Path,
    manifest: Manifest,
    *,
    tells_skipped: bool,
    as_json: bool,
) -> None:
    done = {one.name: one.prediction for one in outcomes if one.prediction is not None}
    failed = {one.name: str(one.error) for one in outcomes if one.error is not None}
    for sentence in failed.values() if tells_skipped else ():
        note(f"skipped: {sentence}")
    capped = [name for name, prediction in done.items() if not prediction.complete]
    if capped:
        note(
            f"the decoder did not finish {counted(len(capped), 'video')} (first: {capped[0]}): "
            "actions may be missing; allow more with --set max_segments=… or try --transcript best"
        )
    if as_json:
        print_json(
            {
                "out": str(out),
                "videos": {name: one.as_dict() for name, one in done.items()},
                "skipped": failed,
                "earlier": sorted(manifest.videos.keys() - done.keys() - failed.keys()),
                "unfamiliar": sorted(one.name for one in outcomes if not one.is_familiar),
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
