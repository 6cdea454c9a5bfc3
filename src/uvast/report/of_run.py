"""A run to a report: every way of decoding on its test side, and what training left behind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from uvast.data import Dataset
from uvast.errors import ConfigError, LabelError
from uvast.inference import load
from uvast.inference.decoder import check_options
from uvast.inference.inputs import DatasetVideo
from uvast.inference.named_decodings import decodings_of, named_decodings
from uvast.inference.pipeline import segment_with_decodings
from uvast.models import Uvast
from uvast.report.attention import attention_maps, has_attention
from uvast.report.compare import compare, order_of_videos
from uvast.report.content import Report
from uvast.report.of_predictions import scored_side
from uvast.report.pseudo_labels import compare_pseudo_labels
from uvast.report.sources import RunFiles, training_charts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from uvast.inference import Segmenter
    from uvast.report.content import Attention, Comparison
    from uvast.segments import Segmentation

    Ways = Mapping[str, Mapping[str, Any]]

LEFT_OUT = ("transcript", "viterbi + gamma")
"""Decodings without a timeline of their own worth looking at."""

OWN_WAY = "as configured"
"""The model's own decoding, where no other way is the same."""


def ways_of(segmenter: Segmenter) -> dict[str, Mapping[str, Any]]:
    """The ways a model can be decoded, its own setting among them."""
    network = segmenter.module
    alignment = isinstance(network, Uvast) and network.alignment is not None
    names = decodings_of(segmenter.config.model.kind, alignment=alignment)
    ways = named_decodings(name for name in names if name not in LEFT_OUT)
    if _own_ways(segmenter, ways) or not _makes_timelines(segmenter):
        return ways
    return {**ways, OWN_WAY: {}}


def report_run(
    run: Path,
    *,
    dataset: Path | str | None = None,
    split: int | None = None,
    ways: Ways | None = None,
    only: Sequence[str] = (),
    compare_with: Path | None = None,
    pseudo_labels: bool | None = None,
    video: str | None = None,
    device: str = "auto",
    workers: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """A report on a run.

    Args:
        run: the run folder.
        dataset: its dataset; None is the one it was trained on.
        split: whose test side is scored; None is the run's own split.
        ways: name to decoding settings; None takes `ways_of` the model.
        only: names of the ways to take; empty for all.
        compare_with: another run, for the cross-attention maps.
        pseudo_labels: whether to compare pseudo-segmentations; None: if it was trained on them.
        video: the video of the cross-attention maps; None takes one of middling score.
        device: `auto`, `cpu`, `cuda`, …
        workers: threads that decode side by side.
        progress: told how many of how many segmentations are done.
    """
    files = RunFiles.read(run)
    segmenter = load(run, device=device)
    data = Dataset.open(dataset or files.dataset)
    if data.vocabulary.names != segmenter.vocabulary.names:
        raise ConfigError(
            "has other classes than the model",
            where=data.path,
            remedy="choose a dataset with the same mapping.txt",
        )
    split = files.split if split is None else split
    names = [name for name in data.side(split, "test") if data.has_labels(name)]
    if not names:
        raise LabelError(
            "no video to score has labels", where=data.path, remedy="choose another --dataset"
        )
    chosen = _chosen_ways(ways or ways_of(segmenter), only)
    # whatever can be wrong is told before the work
    shown = _shown_runs(run, segmenter, compare_with)
    if video is not None:
        data.video(video)
    comparison = compare(
        {name: data.source_segmentation(name) for name in names},
        _predictions(segmenter, data, names, chosen, workers=workers, progress=progress),
        data.vocabulary,
        main=_main(segmenter, chosen),
    )
    wanted = files.supervision == "timestamps" if pseudo_labels is None else pseudo_labels
    return Report(
        title=run.resolve().name,
        facts=_facts(run, segmenter, data, files, split, len(names)),
        notes=_notes(data, files, names),
        vocabulary=data.vocabulary,
        frames_per_second=data.spec.frames_per_second,
        comparison=comparison,
        attention=_attention(shown, data, comparison, video) if has_attention(segmenter) else None,
        pseudo_labels=compare_pseudo_labels(
            data, files.train, segmenter.config.supervision, timestamps=files.timestamps
        )
        if wanted
        else None,
        charts=training_charts(files.log),
        files=files.texts,
    )


def _chosen_ways(ways: Ways, only: Sequence[str]) -> Ways:
    unknown = [name for name in only if name not in ways]
    if unknown:
        raise ConfigError(
            f"no way {unknown[0]!r} for this model",
            where="--ways",
            remedy=f"choose from {', '.join(ways)}",
        )
    return {name: ways[name] for name in only} if only else ways


def _predictions(
    segmenter: Segmenter,
    dataset: Dataset,
    names: Sequence[str],
    ways: Ways,
    *,
    workers: int,
    progress: Callable[[int, int], None] | None,
) -> dict[str, dict[str, Segmentation]]:
    """Way to video to segmentation; the first video that fails is an error."""
    options = {way: segmenter.options(**changes) for way, changes in ways.items()}
    sources = [DatasetVideo(dataset, name, segmenter.sampling_rate) for name in names]
    predictions: dict[str, dict[str, Segmentation]] = {way: {} for way in ways}
    outcomes = segment_with_decodings(segmenter, sources, options, workers=workers)
    for n_done, (way, outcome) in enumerate(outcomes, start=1):
        if outcome.error is not None:
            raise outcome.error
        if outcome.prediction is None or outcome.prediction.segmentation is None:
            raise ConfigError(
                f"way {way!r} gives no durations", remedy="choose durations other than none"
            )
        predictions[way][outcome.name] = outcome.prediction.segmentation
        if progress is not None:
            progress(n_done, len(names) * len(ways))
    return predictions


def _main(segmenter: Segmenter, ways: Ways) -> int:
    """The way that is the model's own setting, else the last one; never the best on the test."""
    same = _own_ways(segmenter, ways)
    return list(ways).index(same[0]) if same else len(ways) - 1


def _own_ways(segmenter: Segmenter, ways: Ways) -> list[str]:
    """The ways that are the model's own setting."""
    own = segmenter.options()
    return [name for name, changes in ways.items() if segmenter.options(**changes) == own]


def _makes_timelines(segmenter: Segmenter) -> bool:
    """Whether the model's own setting is one that it can do, and no bare transcript."""
    own = segmenter.options()
    try:
        check_options(segmenter.module, own)
    except ConfigError:  # a model whose stage 2 is still to come
        return False
    return (own.transcript, own.durations) != ("decoder", "none")


def _shown_runs(
    run: Path, segmenter: Segmenter, compare_with: Path | None
) -> dict[Path, Segmenter]:
    """The runs whose cross-attention is shown."""
    runs = {run: segmenter}
    if compare_with is not None:
        runs[compare_with] = load(compare_with, device=str(segmenter.device))
    for path, one in runs.items():
        if compare_with is not None and not has_attention(one):
            raise ConfigError(
                "a frame-wise model has no cross-attention",
                where=path,
                remedy="compare two uvast runs",
            )
        if one.vocabulary.names != segmenter.vocabulary.names:
            raise ConfigError(
                "has other classes", where=path, remedy="compare runs of the same dataset"
            )
    return runs


def _attention(
    runs: Mapping[Path, Segmenter], dataset: Dataset, comparison: Comparison, video: str | None
) -> Attention:
    if video is None:
        order = order_of_videos(comparison, comparison.main)
        video = comparison.videos[order[len(order) // 2]].name
    titles = {
        f"{name}: {'with' if one.config.loss.cross_attention else 'without'} "
        "the cross-attention loss": one
        for name, one in zip(_distinct_names(runs), runs.values(), strict=True)
    }
    return attention_maps(titles, dataset, video)


def _distinct_names(folders: Iterable[Path]) -> list[str]:
    """Names of folders, with as many parents as it takes to tell them apart."""
    parts = [folder.resolve().parts for folder in folders]
    n_folders, n_parts = len(set(parts)), 1
    while len({one[-n_parts:] for one in parts}) < n_folders:
        n_parts += 1
    return [str(Path(*one[-n_parts:])) for one in parts]


def _facts(
    run: Path,
    segmenter: Segmenter,
    dataset: Dataset,
    files: RunFiles,
    split: int | None,
    n_videos: int,
) -> dict[str, str]:
    return {
        "Run": str(run),
        "Model": f"{segmenter.config.model.kind}, {segmenter.origin}",
        "Dataset": str(dataset.path),
        "Trained on": f"{len(files.train)} videos, "
        + ("full labels" if files.supervision == "full" else "timestamps"),
        "Scored": scored_side(split, n_videos=n_videos, n_splits=0),
    }


def _notes(dataset: Dataset, files: RunFiles, names: Sequence[str]) -> tuple[str, ...]:
    notes = []
    if dataset.path.resolve() == Path(files.dataset).resolve():
        n_seen = len(set(names) & set(files.train))
        if n_seen:
            notes.append(
                f"{n_seen} of the {len(names)} videos were trained on: "
                "these scores do not tell how the model does on new videos."
            )
    trimmed = dataset.trim_summary()
    if trimmed is not None:
        notes.append(f"{trimmed}.")
    return tuple(notes)
