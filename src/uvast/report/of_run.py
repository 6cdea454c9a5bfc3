"""A run to a report: every way of decoding on its test side, and what training left behind."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from uvast.data import Dataset
from uvast.errors import ConfigError, InputError, LabelError
from uvast.inference import load
from uvast.inference.inputs import DatasetVideo
from uvast.inference.pipeline import segment_all
from uvast.models import Uvast
from uvast.report.attention import attention_maps, has_attention
from uvast.report.compare import compare, order_of_videos
from uvast.report.content import Report
from uvast.report.of_predictions import scored_side
from uvast.report.pseudo_labels import compare_pseudo_labels
from uvast.report.sources import RunFiles, training_charts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from uvast.inference import Segmenter
    from uvast.report.content import Attention, Comparison
    from uvast.segments import Segmentation

    Ways = Mapping[str, Mapping[str, Any]]

UVAST_WAYS: Ways = MappingProxyType(
    {
        "frames": {"transcript": "frames", "durations": "none"},
        "alignment": {"transcript": "decoder", "durations": "alignment"},
        "viterbi": {"transcript": "decoder", "durations": "viterbi", "length_model": "poisson"},
        "fifa": {"transcript": "decoder", "durations": "fifa"},
        "semi-markov": {"transcript": "semi-markov"},
        "best": {"transcript": "best", "beam_width": 5},
    }
)
"""Name to changes of the config's `decode` section, for models with a transcript decoder."""

FRAME_WISE_WAYS: Ways = MappingProxyType(
    {
        "frames": {"transcript": "frames", "durations": "none"},
        "viterbi": {"transcript": "frames", "durations": "viterbi"},
        "fifa": {"transcript": "frames", "durations": "fifa"},
        "semi-markov": {"transcript": "semi-markov"},
    }
)
"""The same for frame-wise models."""


def ways_of(segmenter: Segmenter) -> dict[str, Mapping[str, Any]]:
    """The ways a model can be decoded."""
    if not isinstance(segmenter.module, Uvast):
        return dict(FRAME_WISE_WAYS)
    ways = dict(UVAST_WAYS)
    if segmenter.module.alignment is None:
        del ways["alignment"]
    return ways


def report_run(
    run: Path,
    *,
    dataset: Path | str | None = None,
    split: int | None = None,
    ways: Ways | Sequence[str] | None = None,
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
        ways: name to decoding settings, or names out of `ways_of`; None for all of these.
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
    split = files.split if split is None else split
    names = [name for name in data.side(split, "test") if data.has_labels(name)]
    if not names:
        raise LabelError(
            "no video to score has labels", where=data.path, remedy="choose another --dataset"
        )
    chosen = _chosen_ways(segmenter, ways)
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
        attention=_attention(run, segmenter, data, comparison, compare_with, video),
        pseudo_labels=compare_pseudo_labels(
            data, files.train, segmenter.config.supervision, timestamps=files.timestamps
        )
        if wanted
        else None,
        charts=training_charts(files.log),
        files=files.texts,
    )


def _chosen_ways(segmenter: Segmenter, ways: Ways | Sequence[str] | None) -> Ways:
    known: Ways = ways_of(segmenter)
    if ways is None:
        return known
    if not ways:
        raise InputError("no way of decoding", remedy=f"choose from {', '.join(known)}")
    if not isinstance(ways, (list, tuple)):
        assert not isinstance(ways, str), "a list of names or a mapping"
        return dict(ways)  # type: ignore[call-overload,no-any-return]
    unknown = [name for name in ways if name not in known]
    if unknown:
        raise ConfigError(
            f"no way {unknown[0]!r} for this model",
            where="--ways",
            remedy=f"choose from {', '.join(known)}",
        )
    return {name: known[name] for name in ways}
