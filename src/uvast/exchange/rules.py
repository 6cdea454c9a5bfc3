"""What is done to annotations between reading and writing; every rule reports what it does.

A rule takes records and returns records with notes, one sentence for each thing it changed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal, get_args

from uvast.errors import ConfigError, LabelError, counted
from uvast.exchange.overlaps import Overlaps, first_conflict, painted
from uvast.exchange.records import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from uvast.exchange.records import Event, VideoAnnotations

Gaps = Literal["background", "unknown"]
GAPS: tuple[Gaps, ...] = get_args(Gaps)

_PARTS: Mapping[str, Callable[[Event], Sequence[str]]] = {
    "label": lambda event: (event.label,),
    "tier": lambda event: (event.tier,),
    "modifier": lambda event: event.modifiers,
}
_SYNONYMS = {"behavior": "label", "behaviour": "label", "subject": "tier", "modifiers": "modifier"}


@dataclass(frozen=True)
class Ruled:
    """Records after a rule, and what it did."""

    videos: tuple[VideoAnnotations, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rules:
    """What is done to annotations between reading and writing, in the order of the fields.

    Args:
        tiers: keeps only the events on these; all if empty.
        label_from: parts that make up the labels, such as `label+modifier`.
        names: labels to new names; an empty name leaves the label out.
        overlaps: which of several intervals counts; None keeps all.
    """

    tiers: tuple[str, ...] = ()
    label_from: str | None = None
    names: Mapping[str, str] | None = None
    overlaps: Overlaps | None = None

    def apply(self, videos: Sequence[VideoAnnotations]) -> Ruled:
        """Applies every rule that is set."""
        done = Ruled(tuple(videos))
        if self.tiers:
            done = _then(done, on_tiers(done.videos, self.tiers))
        if self.label_from is not None:
            done = _then(done, labelled_from(done.videos, self.label_from))
        if self.names is not None:
            done = _then(done, renamed(done.videos, self.names))
        if self.overlaps is not None:
            done = _then(done, without_overlaps(done.videos, self.overlaps))
        return done


def on_tiers(videos: Sequence[VideoAnnotations], tiers: Iterable[str]) -> Ruled:
    """Keeps only the events of some tiers or subjects."""
    wanted = set(map(one_line, tiers))
    known = sorted({event.tier for video in videos for event in video.events if event.tier})
    unknown = sorted(wanted - set(known))
    if unknown:
        similar = get_close_matches(unknown[0], known, n=1)
        remedy = f"choose from {', '.join(known)}" if known else "leave the option out"
        raise LabelError(
            f"there is no tier or subject {unknown[0]!r}",
            where="--tier",
            remedy=f"did you mean {similar[0]!r}?" if similar else remedy,
        )
    return _kept(videos, lambda event: event.tier in wanted, "left out: on other tiers")


def labelled_from(videos: Sequence[VideoAnnotations], recipe: str) -> Ruled:
    """Makes labels of parts, such as `label+modifier` or `tier+label`, joined by a blank.

    `behavior` and `subject` are other words for label and tier.
    """
    names = [_SYNONYMS.get(part.strip(), part.strip()) for part in recipe.lower().split("+")]
    for name in names:
        if name not in _PARTS:
            raise ConfigError(
                f"{recipe!r} has an unknown part",
                where="--label-from",
                remedy="join label, modifier and tier by +, such as label+modifier",
            )

    def renamed(event: Event) -> Event:
        words = [word for name in names for word in _PARTS[name](event) if word]
        return replace(event, label=" ".join(words) or event.label)

    return Ruled(tuple(_mapped(video, renamed) for video in videos))


def renamed(videos: Sequence[VideoAnnotations], names: Mapping[str, str]) -> Ruled:
    """Renames labels; several may get the same name, and an empty name leaves the label out."""
    names = {one_line(label): one_line(name) for label, name in names.items()}
    present = {label for video in videos for label in video.labels}
    notes = [
        f"the mapping names {label!r}, which no annotation has"
        for label in names
        if label not in present
    ]
    dropped = {label for label, name in names.items() if not name}
    kept = _kept(
        videos,
        lambda event: event.label not in dropped,
        "left out: the mapping gives no name to their labels",
    )
    found = tuple(
        _mapped(video, lambda event: replace(event, label=names.get(event.label, event.label)))
        for video in kept.videos
    )
    return Ruled(found, (*notes, *kept.notes))


def without_overlaps(videos: Sequence[VideoAnnotations], how: Overlaps) -> Ruled:
    """Reduces overlaps to one interval at a time; points stay."""
    notes = []
    found = []
    for video in videos:
        intervals = video.intervals
        spans = [(event.start, event.stop) for event in intervals]
        conflict = first_conflict(spans, [event.label for event in intervals])
        if conflict is None:
            found.append(video)
            continue
        if how == "error":
            raise overlap_error(video.video, *(intervals[index] for index in conflict))
        pieces = [
            replace(intervals[piece.place], start=piece.start, end=piece.end)
            for piece in painted(spans, how)
        ]
        notes.append(f"{video.video}: intervals overlap, the {how} counts")
        found.append(replace(video, events=(*pieces, *video.points)))
    return Ruled(tuple(found), tuple(notes))


def overlap_error(video: str, first: Event, second: Event) -> LabelError:
    """The error for two intervals that overlap."""
    shown = " and ".join(
        f"{event.label!r} ({event.start:g} to {event.end:g} s)" for event in (first, second)
    )
    return LabelError(
        f"{shown} overlap",
        where=video,
        remedy="correct them, choose a --tier, or pass --overlaps first, last or longest",
    )


def point_labels(video: VideoAnnotations) -> tuple[str, ...]:
    """The labels that only occur as points: they become timestamps."""
    lasting = {event.label for event in video.intervals}
    return tuple(label for label in video.labels if label not in lasting)


def _then(before: Ruled, after: Ruled) -> Ruled:
    return Ruled(after.videos, (*before.notes, *after.notes))


def _kept(videos: Sequence[VideoAnnotations], keep: Callable[[Event], bool], why: str) -> Ruled:
    dropped = Counter[str]()
    found = []
    for video in videos:
        events = tuple(event for event in video.events if keep(event))
        dropped[video.video] += len(video.events) - len(events)
        found.append(replace(video, events=events))
    n_dropped = dropped.total()
    return Ruled(tuple(found), (f"{counted(n_dropped, 'annotation')} {why}",) if n_dropped else ())


def _mapped(video: VideoAnnotations, change: Callable[[Event], Event]) -> VideoAnnotations:
    return replace(video, events=tuple(change(event) for event in video.events))
