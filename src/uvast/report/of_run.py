"""A run to a report: every decoding of its test side, and what training recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from uvast.data import Dataset
from uvast.errors import ConfigError
from uvast.evaluation import Track
from uvast.inference import load
from uvast.inference.inputs import DatasetVideo
from uvast.inference.named_decodings import decodings_of, named_decodings
from uvast.inference.option_checks import check_options
from uvast.inference.pipeline import segment_with_decodings
from uvast.inference.temperature import Temperature
from uvast.inference.weights import DecodingWeights
from uvast.models.ensemble import writers
from uvast.models.protocols import gives_boundaries, gives_fractions, has_alignment
from uvast.report.attention import attention_maps, has_attention
from uvast.report.compare import compare, order_of_videos
from uvast.report.content import Report
from uvast.report.film_strips import add_film_strips, features_in
from uvast.report.of_predictions import clicks_of, notes_of, videos_in_words
from uvast.report.provenance import learned_by_run, seen_by_run
from uvast.report.pseudo_labels import compare_pseudo_labels
from uvast.report.sources import run_charts
from uvast.runs import RunFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from uvast.inference import Segmenter
    from uvast.report.content import Attention, Comparison
    from uvast.runs import RunInfo

    Decodings = Mapping[str, Mapping[str, Any]]

LEFT_OUT = ("transcript", "viterbi + gamma")
"""Decodings that have no timeline worth showing."""

OWN = "as configured"
"""The model's own decoding, where no named one equals it."""


def decodings_to_show(segmenter: Segmenter) -> dict[str, Mapping[str, Any]]:
    """The decodings that a model supports, its own setting included."""
    network = segmenter.module
    names = decodings_of(
        segmenter.config.model.kind,
        alignment=any(map(has_alignment, writers(network))),
        explicit=any(map(gives_fractions, writers(network))),
        boundaries=gives_boundaries(network),
    )
    decodings = named_decodings(name for name in names if name not in LEFT_OUT)
    if _own_decodings(segmenter, decodings) or not _makes_timelines(segmenter):
        return decodings
    return {**decodings, OWN: {}}


def report_run(
    run: Path,
    *,
    dataset: Path | str | None = None,
    split: int | None = None,
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
        dataset: its dataset; None for the one it was trained on.
        split: whose test side is scored; None for the run's own split.
        only: names of the decodings to show; empty for all of `decodings_to_show`.
        compare_with: another run, for the cross-attention maps.
        pseudo_labels: whether to compare pseudo-segmentations; None: if it was trained on them.
        video: the video for the cross-attention maps; None takes one with a middling score.
        device: `auto`, `cpu`, `cuda`, …
        workers: threads that decode in parallel.
        progress: called with the number of segmentations done, and the total.
    """
    folder, _, info = RunFolder.open(run)
    segmenter = load(run, device=device)
    data = _opened(dataset or info.dataset, segmenter)
    split = info.split if split is None else split
    names = data.side(split, "test")
    truths = {name: data.source_segmentation(name) for name in names if data.has_labels(name)}
    chosen = _chosen(decodings_to_show(segmenter), only)
    # report whatever can be wrong before the work
    shown = _shown_runs(run, segmenter, compare_with)
    if video is not None:
        data.source_labels(video)
    by_clicks = info.supervision == "timestamps"
    tracks, strange = _predictions(
        segmenter, data, names, chosen, workers=workers, progress=progress
    )
    comparison = compare(
        tracks,
        truths,
        data.vocabulary,
        clicks=clicks_of(data, names if by_clicks else set(names) - set(truths), info.timestamps),
        in_training={None: learned_by_run(info, data.path)},
        main=_main(segmenter, chosen),
    )
    comparison, pictures = add_film_strips(comparison, features_in(data))
    wanted = by_clicks if pseudo_labels is None else pseudo_labels
    options, clicks = segmenter.config.supervision, info.timestamps
    return Report(
        title=_title(run.resolve()),
        facts=_facts(run, segmenter, data, info)
        | _decoding_facts(segmenter)
        | {"Videos": videos_in_words(comparison, split)}
        | pictures,
        notes=notes_of(
            comparison,
            data,
            [str(data.features_path(name)) for name in strange],
            {None: seen_by_run(info, data.path)},
        ),
        vocabulary=data.vocabulary,
        frames_per_second=data.spec.frames_per_second,
        comparison=comparison,
        attention=_attention(shown, data, comparison, video) if has_attention(segmenter) else None,
        pseudo_labels=compare_pseudo_labels(data, info.train, options, timestamps=clicks)
        if wanted
        else None,
        charts=run_charts(folder, info),
        files=folder.texts(),
    )


def _opened(dataset: Path | str, segmenter: Segmenter) -> Dataset:
    """The dataset at the model's rate; it must have the model's classes."""
    data = Dataset.open(dataset).at_rate(segmenter.sampling_rate)
    if data.vocabulary.names != segmenter.vocabulary.names:
        raise ConfigError(
            "does not have the same classes as the model",
            where=data.path,
            remedy="choose a dataset with the same mapping.txt",
        )
    return data


def _chosen(decodings: Decodings, only: Sequence[str]) -> Decodings:
    unknown = [name for name in only if name not in decodings]
    if unknown:
        raise ConfigError(
            f"this model has no decoding {unknown[0]!r}",
            where="--decodings",
            remedy=f"choose from {', '.join(decodings)}",
        )
    return {name: decodings[name] for name in only} if only else decodings


def _predictions(
    segmenter: Segmenter,
    dataset: Dataset,
    names: Sequence[str],
    decodings: Decodings,
    *,
    workers: int,
    progress: Callable[[int, int], None] | None,
) -> tuple[dict[str, dict[int | None, dict[str, Track]]], list[str]]:
    """Decoding to video to track, without splits; raises the error of the first video that fails.

    Also returns the videos whose features are far from those the model was trained on.
    """
    options = {name: segmenter.options(**changes) for name, changes in decodings.items()}
    sources = [DatasetVideo(dataset, name, segmenter.sampling_rate) for name in names]
    tracks: dict[str, dict[str, Track]] = {decoding: {} for decoding in decodings}
    strange: set[str] = set()
    outcomes = segment_with_decodings(segmenter, sources, options, workers=workers)
    for n_done, (decoding, outcome) in enumerate(outcomes, start=1):
        if outcome.error is not None:
            raise outcome.error
        found = outcome.prediction
        assert found is not None, "what is no error is a prediction"
        assert found.segmentation is not None, "bare transcripts are not shown"
        if not outcome.is_familiar:
            strange.add(outcome.name)
        tracks[decoding][outcome.name] = Track(found.segmentation, found.confidences)
        if progress is not None:
            progress(n_done, len(names) * len(decodings))
    return {decoding: {None: of_videos} for decoding, of_videos in tracks.items()}, sorted(strange)


def _main(segmenter: Segmenter, decodings: Decodings) -> int:
    """The index of the model's own decoding, else the last; never the best on the test side."""
    same = _own_decodings(segmenter, decodings)
    return list(decodings).index(same[0]) if same else len(decodings) - 1


def _own_decodings(segmenter: Segmenter, decodings: Decodings) -> list[str]:
    """The names under which the model's own setting is listed."""
    own = segmenter.options()
    return [name for name, changes in decodings.items() if segmenter.options(**changes) == own]


def _makes_timelines(segmenter: Segmenter) -> bool:
    """Whether the model supports its own setting, and that gives more than a bare transcript."""
    own = segmenter.options()
    try:
        check_options(segmenter.module, own)
    except ConfigError:  # a model before its stage 2
        return False
    return not own.is_bare


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
                "has different classes", where=path, remedy="compare runs of the same dataset"
            )
    return runs


def _attention(
    runs: Mapping[Path, Segmenter], dataset: Dataset, comparison: Comparison, video: str | None
) -> Attention | None:
    """The maps of one video; None if no video has the true transcript they need."""
    if video is None:
        order = order_of_videos(comparison, comparison.main)
        scored = [index for index in order if comparison.videos[index].scores]
        if not scored:
            return None
        video = comparison.videos[scored[len(scored) // 2]].name
    titles = {
        f"{name}: {'with' if one.config.loss.cross_attention else 'without'} "
        "the cross-attention loss": one
        for name, one in zip(_distinct_names(runs), runs.values(), strict=True)
    }
    return attention_maps(titles, dataset, video)


def _distinct_names(folders: Iterable[Path]) -> list[str]:
    """The folders' names, with as many parents as it takes to tell them apart."""
    parts = [folder.resolve().parts for folder in folders]
    n_folders, n_parts = len(set(parts)), 1
    while len({one[-n_parts:] for one in parts}) < n_folders:
        n_parts += 1
    return [str(Path(*one[-n_parts:])) for one in parts]


def _title(run: Path) -> str:
    """The folder's name; for a project's numbered runs, with the project's name."""
    if run.name.isdecimal() and run.parent.name == "runs":
        return f"{run.parent.parent.name}, run {run.name}"
    return run.name


def _facts(run: Path, segmenter: Segmenter, dataset: Dataset, info: RunInfo) -> dict[str, str]:
    seen = f", and {len(info.unlabelled)} without their labels" if info.unlabelled else ""
    return {
        "Run": str(run),
        "Model": f"{segmenter.config.model.kind}, {segmenter.origin}",
        "Dataset": str(dataset.path),
        "Trained on": f"{len(info.train)} videos, "
        + ("full labels" if info.supervision == "full" else "timestamps")
        + seen
        + " (transductive)" * info.transductive,
    }


def _decoding_facts(segmenter: Segmenter) -> dict[str, str]:
    """The decoding weights and temperature, unless they are the defaults."""
    weights, temperature = segmenter.priors.weights, segmenter.priors.temperature
    if weights == DecodingWeights() and temperature == Temperature():
        return {}
    named = {
        "power": weights.alpha,
        "power of durations": weights.durations,
        "frames": weights.frames,
        "bigrams": weights.transitions,
        "decoder": weights.decoder,
        "temperature": temperature.usual,
        "its slope": temperature.slope,
    }
    return {"Decoding weights": ", ".join(f"{name} {value:g}" for name, value in named.items())}
