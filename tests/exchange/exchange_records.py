"""Random records that a format can hold, and how to compare them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hypothesis import strategies as st

from uvast.exchange import ConstantRate, Event, Format, Source, Span, Target, VideoAnnotations
from uvast.exchange.formats import read, write
from uvast.exchange.frame_times import middles

RATE = ConstantRate(Fraction(30000, 1001))

BY_FRAMES = {"label-studio", "label-studio-predictions", "intervals"}
ONE_AT_A_TIME = {"elan", "boris", "boris-tabular"}
NEEDS_EVENTS = {"csv", "tsv", "xlsx", "via-csv", "boris-tabular", "boris-aggregated"}
STEPS = {"elan": 1000, "boris": 1000, "boris-tabular": 1000, "boris-aggregated": 1000,
         "srt": 1000, "vtt": 1000, "audacity": 10**6}  # fmt: skip
"""Moments a second that a format tells apart; others hold any number."""

texts = st.text(
    st.characters(
        codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="|\ufffe\uffff"
    ),
    min_size=1,
    max_size=12,
).map(lambda text: " ".join(text.split()))
words = texts.filter(lambda text: text and not text.startswith(("#", '"')))
plain_words = st.text("abcdefgh-_ äß", min_size=1, max_size=8).map(lambda t: f"x{t.strip()}")


def labels_of(kind: Format) -> st.SearchStrategy[str]:
    """A few awkward names; SRT has no way to write tags or an arrow."""
    awkward = ["cut", "a & b", "x, y; z", 'say "so"', "=1+1", "größer", "12", "0.5"]
    tags = [] if kind.name == "srt" else ["<b>", "1 --> 2", "<v x>"]
    return st.one_of(st.sampled_from(awkward + tags), plain_words)


@st.composite
def moments(draw, kind: Format, n: int) -> list[float]:
    """Rising times, on the grid of the format."""
    steps = draw(st.lists(st.integers(1, 5000), min_size=n, max_size=n))
    ticks, now = [], draw(st.integers(0, 3000)) - steps[0] if steps else 0
    for step in steps:
        now = max(now + step, 0 if not ticks else ticks[-1] + 1)
        ticks.append(now)
    if kind.name in BY_FRAMES:
        return RATE.edges([2 * tick for tick in ticks]).tolist() if ticks else []
    return [tick / STEPS.get(kind.name, 977) for tick in ticks]


@st.composite
def records(draw, kind: Format) -> VideoAnnotations:
    """One video with everything that a format holds, and nothing else."""
    least = 1 if kind.name in NEEDS_EVENTS else 0
    n_intervals = draw(st.integers(least, 5))
    times = draw(moments(kind, 2 * n_intervals))
    pairs = list(zip(times[::2], times[1::2], strict=True))
    if kind.name not in ONE_AT_A_TIME:
        starts = draw(st.permutations([start for start, _ in pairs]))
        pairs = [(start, end) for start, (_, end) in zip(starts, pairs, strict=True) if start < end]
    label = labels_of(kind)
    made = [_event(draw, kind, draw(label), start, end) for start, end in pairs]
    if "points" in kind.holds:
        for time in draw(moments(kind, draw(st.integers(1 if not made else 0, 3)))):
            if kind.name in BY_FRAMES:
                time = float(middles(RATE, RATE.frames_at([time]))[0])
            name = f"point {draw(label)}"
            made.append(_event(draw, kind, name, time, None))
    elif not made:
        made = [_event(draw, kind, "cut", *draw(moments(kind, 2)))]
    video = VideoAnnotations(draw(plain_words) + ".mp4", tuple(made))
    if "frame_rate" in kind.holds:
        video = replace(video, frame_rate=float(RATE.rate))
    if "duration" in kind.holds:
        video = replace(video, duration=round(video.end + 1, 3))
    if "observed" in kind.holds and draw(st.booleans()):
        video = replace(video, observed=(Span(0.125, 0.75),))
    return video


def _event(draw, kind: Format, label: str, start: float, end: float | None) -> Event:
    tier = draw(st.sampled_from(["", "left hand", "Ann & Bo"])) if "tier" in kind.holds else ""
    extra = {}
    if "modifiers" in kind.holds:
        extra["modifiers"] = tuple(draw(st.lists(plain_words, max_size=3)))
    if "annotator" in kind.holds:
        extra["annotator"] = f"who {tier}" if kind.name == "elan" else draw(plain_words)
    if "confidence" in kind.holds:
        extra["confidence"] = draw(st.none() | st.floats(0, 1).map(lambda x: round(x, 4)))
    if "comment" in kind.holds:
        extra["comment"] = draw(st.sampled_from(["", "not sure, look again"]))
    return Event(label, start, end, tier, **extra)


def written(kind: Format, videos, place: str = "out", **options):
    target = Target(place, times_of=lambda _: RATE, **options)
    return write(kind, videos, target)


def read_back(kind: Format, content: bytes, video: str):
    return read(kind, Source(content, f"some/folder/{video}.x", times_of=lambda _: RATE))


def rounded(video: VideoAnnotations) -> VideoAnnotations:
    """Without the last digits, which differ between ways to compute a time."""
    events = tuple(
        replace(e, start=round(e.start, 7), end=None if e.end is None else round(e.end, 7))
        for e in video.events
    )
    rate = None if video.frame_rate is None else round(video.frame_rate, 7)
    return replace(video, events=events, frame_rate=rate)
