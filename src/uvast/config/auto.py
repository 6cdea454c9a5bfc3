"""Preset `auto`: settings chosen by looking at the data, each with a sentence that says why.

It starts from preset `small`, whose numbers were found with 21 videos of GTEA (docs/choices.md),
and gives other data what `small` had there: typical actions of a few dozen frames, and about as
many looks at videos.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from uvast.config.reading import Config, load_config, parse_setting

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

BASE = "small"

LEAST_FRAMES = 4
"""Frames that a short segment keeps at the model's rate: one in twenty is shorter."""
TYPICAL_FRAMES = 30
"""Frames of a typical segment, more than a dark span of `train.time_masking` has."""
LEAST_A_SECOND = 1
"""Fewest frames per second for slow actions, as is usual for phases of an hour-long video."""
MOST_FRAMES = 20_000
"""In the longest video: attention to a transcript of hundreds of actions has to fit in memory."""
FEWEST_FRAMES = 2
"""In a short segment, if the longest video exceeds that."""

LOOKS = 4200
"""Looks at a video, over all epochs: `small` has 200 epochs of 21 videos; half as many leave the
transcript decoder half-trained if videos are recombined."""
FEWEST_EPOCHS, MOST_EPOCHS = 30, 300
MANY_VIDEOS = 400
BATCH_OF_MANY = 4

SHORT_FOR_SPANS = 10
"""Frames of a typical segment below which dark spans would hide several actions at once."""
LONG_TRANSCRIPT = 100
MOST_SEGMENTS = 10_000


@dataclass(frozen=True)
class DataFacts:
    """What a model is to learn from, in frames of the source.

    Args:
        supervision: what the videos have, full labels or timestamps.
        n_videos: to learn from.
        n_validation: more videos, held out to score and choose the model.
        n_folds: inner runs that choose the decoding weights.
        n_frames: of the videos to learn from.
        longest: frames of the longest one.
        n_features: F.
        n_classes: C.
        short_segment: frames of a short segment, the 5 % quantile; with timestamps, of the gaps
            between them.
        typical_segment: the median.
        n_segments: of all these videos.
        most_segments: of one video.
        least_gap: fewest frames between two timestamps with different labels, in held-out videos,
            too; None if there are none.
        frames_per_second: None if unknown.
        sampling_rate: as dataset.toml sets it; None if it does not.
    """

    supervision: Literal["full", "timestamps"]
    n_videos: int
    n_frames: int
    longest: int
    n_features: int
    n_classes: int
    short_segment: float
    typical_segment: float
    n_segments: int
    most_segments: int
    n_validation: int = 0
    n_folds: int = 0
    least_gap: int | None = None
    frames_per_second: float | None = None
    sampling_rate: int | None = None


@dataclass(frozen=True)
class AutoPlan:
    """The settings of a run, what they were chosen by, and the names of those asked for."""

    config: Config
    facts: DataFacts
    asked: frozenset[str]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the data is like, and each choice with its reason."""
        return _sentences(self.facts, self.config, self.asked)


def plan(facts: DataFacts, asked: Sequence[str] = ()) -> AutoPlan:
    """Chooses the settings of a run; those `asked` for, such as `train.epochs=20`, stay."""
    config = load_config(BASE, settings=asked)
    names = frozenset(parse_setting(one)[0] for one in asked)
    rate = config.train.sampling_rate
    if not rate:  # if asked for, 0 is the dataset's own
        own = facts.sampling_rate or 1
        rate = own if "train.sampling_rate" in names else _sampling_rate(facts)
    chosen: dict[str, object] = {
        "supervision.kind": facts.supervision,
        "train.epochs": min(max(round(LOOKS / facts.n_videos), FEWEST_EPOCHS), MOST_EPOCHS),
        "train.alignment_epochs": 0,
        "train.batch_size": 1 if facts.n_videos <= MANY_VIDEOS else BATCH_OF_MANY,
    }
    if facts.typical_segment / rate < SHORT_FOR_SPANS:
        chosen["train.time_masking"] = 0.0
    if facts.most_segments > LONG_TRANSCRIPT:
        chosen["decode.max_segments"] = min(2 * facts.most_segments, MOST_SEGMENTS)
    free = {name: one for name, one in chosen.items() if name not in names}
    config = config.replaced(**free, **{"train.sampling_rate": rate})
    return AutoPlan(config, facts, names)


def _sampling_rate(facts: DataFacts) -> int:
    """The n for which the model sees every n-th source frame."""
    if facts.sampling_rate is not None:
        return facts.sampling_rate
    rate = min(facts.short_segment / LEAST_FRAMES, facts.typical_segment / TYPICAL_FRAMES)
    if facts.frames_per_second is not None:
        rate = min(rate, facts.frames_per_second / LEAST_A_SECOND)
    rate = max(rate, min(_rate_of_long_videos(facts), facts.short_segment / FEWEST_FRAMES))
    if facts.least_gap is not None:  # two timestamps on one frame would be an error
        rate = min(rate, facts.least_gap)
    return max(int(rate), 1)


def _rate_of_long_videos(facts: DataFacts) -> int:
    return -(-facts.longest // MOST_FRAMES)


def _sentences(facts: DataFacts, config: Config, asked: Collection[str]) -> tuple[str, ...]:
    train = config.train
    what = "labels" if facts.supervision == "full" else "clicks"
    videos = f"{_count(facts.n_videos, 'video')} with {what}"
    if facts.n_validation:
        videos += f", {facts.n_validation} more held out for validation"
    said = [
        f"{videos}: {_count(facts.n_frames, 'frame')}, {_count(facts.n_segments, 'action')} of "
        f"{_count(facts.n_classes, 'class', 'classes')}",
        _rate_in_words(facts, train.sampling_rate, asked),
    ]
    passes = _count(train.epochs, "epoch")
    if train.batch_size > 1:
        passes += f" in batches of {train.batch_size} videos"
    said.append(
        f"{passes}, {_asked_or('fewer where there are more videos', 'train.epochs', asked)}"
    )
    if not train.alignment_epochs and config.decode.transcript == "best":
        said.append(
            "no alignment decoder (stage 2), which `best` does not use; "
            "--set train.alignment_epochs=30 adds it"
        )
    if facts.n_folds:
        share = (facts.n_folds - 1) * train.fold_epochs
        said.append(
            f"{facts.n_folds} inner runs choose how to decode, each without some of the videos: "
            f"this takes {1 + share:.2g} times as long as one run; "
            "--set train.folds=0 leaves them out"
        )
    if not train.time_masking and "train.time_masking" not in asked:
        said.append("no dark spans: they would hide several of these short actions at once")
    if facts.longest / train.sampling_rate > MOST_FRAMES:
        said.append(
            f"the longest video has {facts.longest:,} frames, which may take a lot of memory; cut "
            "it into several files, or raise --sampling-rate"
        )
    return tuple(said)


def _rate_in_words(facts: DataFacts, rate: int, asked: Collection[str]) -> str:
    seen = "every frame" if rate == 1 else f"every {_ordinal(rate)} frame"
    if "train.sampling_rate" in asked:
        return f"the model sees {seen}, as you asked"
    if facts.sampling_rate is not None:
        return f"the model sees {seen}, as dataset.toml says"
    typical, short, fps = facts.typical_segment, facts.short_segment, facts.frames_per_second
    if fps is None:
        found = f"your actions have about {typical:.0f} frames, short ones {short:.0f}"
    else:
        found = (
            f"your videos have {fps:g} features a second and actions of about {typical / fps:.2g} "
            f"s, short ones of {short / fps:.2g} s"
        )
    why = "--sampling-rate changes that"
    if facts.least_gap == rate:
        why = f"two clicks are only {_count(rate, 'frame')} apart"
    elif 1 < rate <= _rate_of_long_videos(facts):
        why = f"the longest video has {facts.longest:,} frames"
    return f"{found}: the model sees {seen} ({why})"


def _asked_or(reason: str, name: str, asked: Collection[str]) -> str:
    return "as you asked" if name in asked else reason


def _count(number: int, noun: str, nouns: str = "") -> str:
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10)
    return f"{number}{ending or 'th'}"
