"""Speed of annotation files: CPU seconds to read and write 100,000 annotations, for each format.

    python benchmarks/exchange.py [N]

Annotations are generated: 20 labels, one-second intervals on two tiers, 10,000 per video (one video
for formats that hold only one). Read-only formats are left out, except those that this script can
write itself. At the end, a table of as many annotations is imported into a project.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
import time
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.exchange import FORMATS, ConstantRate, Event, Source, Target, VideoAnnotations
from uvast.exchange.formats import format_named, write
from uvast.projects import Project, ProjectVideo
from uvast.projects.imports import import_labels
from uvast.projects.incoming import HowToRead, read_incoming
from uvast.projects.videos import write_videos

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.exchange import Format

A_VIDEO = 10_000
RATE = ConstantRate(Fraction(25))


def generate(n_events: int, n_videos: int) -> list[VideoAnnotations]:
    """Consecutive intervals that every format can hold."""
    each = n_events // n_videos
    return [
        VideoAnnotations(
            f"video{number}.mp4",
            tuple(
                Event(f"label {i % 20}", float(i), i + 0.8, f"tier {i % 2}") for i in range(each)
            ),
        )
        for number in range(n_videos)
    ]


def datavyu(videos: Sequence[VideoAnnotations]) -> bytes:
    """A zip as Datavyu makes it."""
    rows = [
        f"{clock(event.start)},{clock(event.start + event.seconds)},({event.label})"
        for event in videos[0].events
    ]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("project", "name: x\n")
        archive.writestr("db", "\n".join(["#4", "tier (MATRIX,true,)-code|NOMINAL", *rows]))
    return out.getvalue()


def clock(seconds: float) -> str:
    """`HH:MM:SS:mmm`."""
    whole = round(seconds * 1000)
    return (
        f"{whole // 3600000:02}:{whole // 60000 % 60:02}:{whole // 1000 % 60:02}:{whole % 1000:03}"
    )


def cvat(videos: Sequence[VideoAnnotations]) -> bytes:
    """One track per event, visible for 20 frames."""
    tracks = "".join(
        f'<track id="{i}" label="{event.label}"><box frame="{i * 25}" outside="0"/>'
        f'<box frame="{i * 25 + 20}" outside="1"/></track>'
        for i, event in enumerate(videos[0].events)
    )
    return f"<annotations><meta><task/></meta>{tracks}</annotations>".encode()


def anvil(videos: Sequence[VideoAnnotations]) -> bytes:
    """One track."""
    elements = "".join(
        f'<el index="{i}" start="{e.start}" end="{e.end}"><attribute name="type">{e.label}'
        "</attribute></el>"
        for i, e in enumerate(videos[0].events)
    )
    track = f'<track name="t" type="primary">{elements}</track>'
    return f"<annotation><head/><body>{track}</body></annotation>".encode()


def bento(videos: Sequence[VideoAnnotations]) -> bytes:
    """One channel."""
    rows = "".join(f"{e.start}\t{e.end}\t0.8\n" for e in videos[0].events)
    return f"Bento annotation file\n\nCh1----------\n>cut\nStart\tStop\tDuration\n{rows}".encode()


def prediction(videos: Sequence[VideoAnnotations]) -> bytes:
    """As `uvast segment` writes it."""
    rows = [
        {"label": e.label, "start": int(25 * e.start), "end": int(25 * e.start) + 20}
        for e in videos[0].events
    ]
    return json.dumps({"video": "video0", "transcript": [], "segments": rows}).encode()


def timestamps(videos: Sequence[VideoAnnotations]) -> bytes:
    """The middle of each interval."""
    rows = [{"frame": int(25 * e.start) + 10, "label": e.label} for e in videos[0].events]
    return json.dumps({"video0": rows}).encode()


MAKERS = {
    "anvil": anvil,
    "bento": bento,
    "cvat": cvat,
    "datavyu": datavyu,
    "uvast-prediction": prediction,
    "uvast-timestamps": timestamps,
}


def measure(kind: Format, n_events: int) -> tuple[float, float, float]:
    """CPU seconds to write, megabytes, CPU seconds to read; a busy machine does not change them."""
    n_videos = max(1, n_events // A_VIDEO) if "videos" in kind.holds else 1
    videos = generate(n_events, n_videos)
    start = time.process_time()
    if kind.write is None:
        content = MAKERS[kind.name](videos)
    else:
        content = kind.write(videos, Target("out", times_of=lambda _: RATE)).content
    writing = time.process_time() - start
    start = time.process_time()
    reading = kind.read(Source(content, f"video0{kind.suffixes[0]}", times_of=lambda _: RATE))
    seconds = time.process_time() - start
    found = sum(event.label != "background" for v in reading.videos for event in v.events)
    assert found == n_events, f"{kind.name}: {found} of {n_events} came back"
    return writing, len(content) / 1e6, seconds


def measure_import(n_events: int) -> float:
    """CPU seconds to import a CSV table into a project whose video files do not exist."""
    videos = generate(n_events, max(1, n_events // A_VIDEO))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write_videos(
            place,
            [ProjectVideo(v.video.removesuffix(".mp4"), place / v.video, 1, "x") for v in videos],
        )
        table = place / "labels.csv"
        table.write_bytes(write(format_named("csv"), videos, Target("labels.csv")).content)
        project = Project.open(place)
        start = time.process_time()
        import_labels(project, read_incoming(project, [table], HowToRead()))
        project.materialise()
        return time.process_time() - start


def main() -> None:
    """Prints one row per format."""
    n_events = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    print(f"{n_events} annotations\n{'format':26}{'write s':>9}{'MB':>8}{'read s':>9}")
    for kind in sorted(FORMATS, key=lambda one: one.name):
        writing, size, reading = measure(format_named(kind.name), n_events)
        own = f"{writing:9.2f}" if kind.write else f"{'–':>9}"
        print(f"{kind.name:26}{own}{size:8.1f}{reading:9.2f}")
    print(f"uvast import of a CSV table: {measure_import(n_events):.2f} s")


if __name__ == "__main__":
    main()
