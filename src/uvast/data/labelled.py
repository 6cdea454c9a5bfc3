"""`labelled.json`: which frames of a video are labelled, if not all of them.

    {"VIDEO": [[start, end], ...]}    source frames `[start, end)`

A video that is not in the file is fully labelled, one with an empty list not at all. Frames outside
the stretches are unlabelled, which is not background: training sees each stretch as a separate
sample, scoring sees it as a separate sequence, and neither looks at the rest.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from uvast.data.faults import raise_fault, some
from uvast.data.feature_files import lengths_agree
from uvast.errors import DataError, LabelError
from uvast.files import is_present, read_record, write_text
from uvast.segments import UNLABELLED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from uvast.data.faults import OnFault
    from uvast.data.video_names import VideoNames
    from uvast.segments import IntArray
    from uvast.vocabulary import Vocabulary

LABELLED_FILE = "labelled.json"

N_LISTED = 20
"""How many videos a note lists by name."""

Span = tuple[int, int]

_Frame = Annotated[int, Field(ge=0, le=2**48)]
_Spans = Annotated[list[tuple[_Frame, _Frame]], Field(max_length=2**20)]
_FORM = 'write stretches in order, as in {"video": [[0, 900], [1200, 1500]]}'


@dataclass(frozen=True)
class Stretch:
    """Labelled source frames `[start, end)` of a video that is only partly labelled."""

    video: str
    start: int
    end: int

    @property
    def name(self) -> str:
        """The name of the sample, `VIDEO/start:end`; file names never contain a slash."""
        return f"{self.video}/{self.start}:{self.end}"

    @property
    def n_frames(self) -> int:
        """Its length at the source rate."""
        return self.end - self.start

    @property
    def frames(self) -> slice:
        """Where it lies in its video."""
        return slice(self.start, self.end)


class Stretches:
    """The labelled stretches of a dataset's videos.

    Args:
        spans: by video, as `read_labelled` gives them.
        length: gives a video's length at the source rate; called only for videos with spans.
        tolerance: how far spans may run past the end, see `DatasetSpec.tolerance`.
        folder: the dataset's, for errors.
    """

    def __init__(
        self,
        spans: Mapping[str, Sequence[Span]],
        length: Callable[[str], int],
        tolerance: float,
        folder: Path,
    ) -> None:
        self._spans = spans
        self._length = length
        self._tolerance = tolerance
        self._path = folder / LABELLED_FILE
        self._fitted: dict[str, dict[str, Stretch] | None] = {}

    def of(self, video: str) -> tuple[Stretch, ...] | None:
        """The stretches of a video, empty if it has no labels; None if it is fully labelled."""
        if video not in self._spans:
            return None
        if video not in self._fitted:
            self._fitted[video] = self._fit(video)
        found = self._fitted[video]
        return None if found is None else tuple(found.values())

    def is_empty(self, video: str) -> bool:
        """Whether no frame of a video is labelled."""
        return video in self._spans and not self._spans[video]

    def find(self, sample: str) -> Stretch | None:
        """The stretch with that name; None if the sample is a whole video."""
        video, slash, _ = sample.partition("/")
        if not slash or self.of(video) is None:
            return None
        return (self._fitted[video] or {}).get(sample)

    def _fit(self, video: str) -> dict[str, Stretch] | None:
        spans, n_frames = self._spans[video], self._length(video)
        start, end = spans[-1] if spans else (-1, 0)
        if start >= n_frames or not (
            end <= n_frames or lengths_agree(end, n_frames, self._tolerance)
        ):
            raise LabelError(
                f"stretch [{start}, {end}] is outside of the video's {n_frames} frames",
                where=f"{self._path}, video {video}",
                remedy="give source frames, counted from 0",
            )
        inside = [(start, min(end, n_frames)) for start, end in spans]
        if inside == [(0, n_frames)]:
            return None
        found = [Stretch(video, *span) for span in inside]
        return {one.name: one for one in found}


def read_labelled(
    folder: Path, known: VideoNames, on_fault: OnFault = raise_fault
) -> dict[str, tuple[Span, ...]]:
    """The stretches of each video in a dataset's `labelled.json`; empty without such a file.

    Touching stretches are joined. If `on_fault` does not raise, a faulty entry is left out.
    """
    path = folder / LABELLED_FILE
    if not is_present(path):
        return {}
    found: dict[str, tuple[Span, ...]] = {}
    try:
        table = read_record(path, dict[str, _Spans], error=LabelError, remedy=_FORM)
    except DataError as fault:
        on_fault(fault)
        return {}
    for written, spans in table.items():
        name = known.find(written)
        if name is None:
            what = f"names video {written}, which does not exist"
            remedy = known.remedy(written, "add its files or remove it here")
            on_fault(LabelError(what, where=path, remedy=remedy))
        elif name in found:
            what = f"names video {name} twice, once as {written}"
            on_fault(LabelError(what, where=path, remedy="write its stretches in one list"))
        elif (disorder := _disorder(spans)) is not None:
            on_fault(LabelError(disorder, where=f"{path}, video {name}", remedy=_FORM))
        else:
            found[name] = _joined(spans)
    return found


def encode_stretches(
    labels: Sequence[str], stretches: Sequence[Stretch], vocabulary: Vocabulary, *, where: str
) -> IntArray:
    """Class ids `(source_frames,)` of a label file's lines, `UNLABELLED` outside the stretches.

    Lines outside are not read; `where` names the file in errors.
    """
    lines = lines_inside(labels, stretches, vocabulary.names[0])
    ids: IntArray = np.full(len(labels), UNLABELLED, dtype=np.int64)
    encoded = vocabulary.encode(lines, where=where)
    for one in stretches:
        ids[one.frames] = encoded[one.frames]
    return ids


def lines_inside(labels: Sequence[str], stretches: Sequence[Stretch], filler: str) -> list[str]:
    """The lines of a label file with `filler` outside the stretches, each in its place."""
    lines = [filler] * len(labels)
    for one in stretches:
        lines[one.frames] = labels[one.frames]
    return lines


def unlabelled_note(videos: Sequence[str], *, lack: str = "labels") -> str | None:
    """One line about videos that have no labels and stay out; None if there are none."""
    if not videos:
        return None
    which = "1 video has" if len(videos) == 1 else f"{len(videos)} videos have"
    stays = "stays" if len(videos) == 1 else "stay"
    return f"{which} no {lack} and {stays} out: {some(videos, N_LISTED)}"


def partial_note(
    stretches: Mapping[str, Sequence[Stretch] | None], n_frames: Callable[[str], int]
) -> str | None:
    """One line about those videos that are only partly labelled, each with its share, or None."""
    videos = [
        f"{name} ({sum(one.n_frames for one in its)} of {n_frames(name)} frames)"
        for name, its in stretches.items()
        if its
    ]
    if not videos:
        return None
    which = "1 video is" if len(videos) == 1 else f"{len(videos)} videos are"
    return f"{which} labelled in part, the rest stays out: {some(videos, N_LISTED)}"


def write_labelled(path: Path, labelled: Mapping[str, Sequence[Span]]) -> None:
    """Writes a `labelled.json`."""
    write_text(path, labelled_text(labelled))


def labelled_text(labelled: Mapping[str, Sequence[Span]]) -> str:
    """The content of a `labelled.json`, one video per line."""
    lines = [
        f"  {json.dumps(name, ensure_ascii=False)}: {json.dumps([list(span) for span in spans])}"
        for name, spans in labelled.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _disorder(spans: Sequence[Span]) -> str | None:
    for start, end in spans:
        if start >= end:
            return f"stretch [{start}, {end}] has no frames"
    for before, after in pairwise(spans):
        if after[0] < before[1]:
            return f"stretch {list(after)} comes after {list(before)}, which ends later"
    return None


def _joined(spans: Sequence[Span]) -> tuple[Span, ...]:
    joined: list[Span] = []
    for start, end in spans:
        if joined and joined[-1][1] == start:
            start = joined.pop()[0]
        joined.append((start, end))
    return tuple(joined)
