"""Pictures under timelines: of the right moments, and never in the way of a report."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from page_reader import PageReader
from PIL import Image

from uvast.evaluation import Track
from uvast.features import Order, extract, extras, parse_models
from uvast.features.card import FeatureCard, write_card
from uvast.features.encode import video_writer
from uvast.report import Report, film_strips, report_predictions
from uvast.report.compare import compare
from uvast.report.film_strips import MAX_VIDEOS, N_PICTURES, add_film_strips
from uvast.report.page import page
from uvast.segments import Segmentation
from uvast.vocabulary import Vocabulary

LEVELS = [20 * part + 10 for part in range(N_PICTURES)]
CLASSES = Vocabulary(("one", "two"))


def write_levels(path: Path, n_frames: int = 120, size: tuple[int, int] = (64, 48)) -> Path:
    """Each twelfth of the video has a grey of its own."""
    with video_writer(path, width=size[0], height=size[1], rate=10) as write:
        for frame in range(n_frames):
            level = LEVELS[frame * N_PICTURES // n_frames]
            write(np.full((size[1], size[0], 3), level, np.uint8), frame / 10)
    return path


def levels_of(pictures: tuple[bytes, ...]) -> list[int]:
    means = [np.asarray(Image.open(io.BytesIO(one)).convert("L")).mean() for one in pictures]
    return [int(np.argmin(np.abs(np.array(LEVELS) - mean))) for mean in means]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """A dataset of two videos, extracted, and predictions of them in `predictions`."""
    folder = tmp_path / "videos"
    folder.mkdir()
    for name in ("a", "b"):
        order = Order(
            write_levels(folder / f"{name}.mp4"),
            tmp_path / "data" / "features",
            parse_models("pixels"),
            rate=5.0,
        )
        extract(order)
    labels = tmp_path / "data" / "groundTruth"
    predictions = tmp_path / "predictions"
    for place in (labels, predictions):
        place.mkdir()
        for name in ("a", "b"):
            (place / f"{name}.txt").write_text("one\n" * 30 + "two\n" * 30)
    return tmp_path / "data"


def report_of(dataset: Path) -> Report:
    return report_predictions(dataset.parent / "predictions", dataset)


def strips_of(report: Report) -> dict[str, list[int] | None]:
    assert report.comparison is not None
    return {
        one.name: None if one.strip is None else levels_of(one.strip.pictures)
        for one in report.comparison.videos
    }


def test_each_picture_shows_the_middle_of_its_part(dataset: Path) -> None:
    report = report_of(dataset)
    every = list(range(N_PICTURES))
    assert strips_of(report) == {"a": every, "b": every}
    assert "Pictures" not in report.facts
    found = PageReader(page(report)).data
    (video, _) = found["comparison"]["videos"]
    assert video["strip"]["shape"] == pytest.approx(64 / 48, abs=0.01)
    assert len(video["strip"]["pictures"]) == N_PICTURES
    assert found["imageType"] == "image/webp"


def test_predictions_of_files_know_their_videos_by_the_manifest(dataset: Path) -> None:
    """No dataset, no labels: the manifest names the features, and their card the video."""
    features = {name: str(dataset / "features" / f"{name}.npy") for name in ("a", "b")}
    manifest = {
        "model": "/gone/run",
        "checkpoint": "0" * 64,
        "options": {},
        "formats": ["txt"],
        "videos": features,
    }
    folder = dataset.parent / "predictions"
    (folder / "segmentation.json").write_text(json.dumps(manifest))
    shutil.rmtree(dataset / "groundTruth")
    every = list(range(N_PICTURES))
    assert strips_of(report_predictions(folder)) == {"a": every, "b": every}


def gone(video: Path, card: Path) -> str:
    video.unlink()
    return "does not exist"


def broken(video: Path, card: Path) -> str:
    video.write_bytes(b"\0" * video.stat().st_size)
    return "cannot be read as a video"


def another(video: Path, card: Path) -> str:
    write_levels(video, 60)
    return "has changed since its features were extracted"


def device(video: Path, card: Path) -> str:
    text = card.read_text().replace(json.dumps(str(video)), '"/dev/zero"')
    card.write_text(text)
    return "/dev/zero"


def no_card(video: Path, card: Path) -> str:
    card.unlink()
    return "of 1 of the 2 videos"


def card_of_nonsense(video: Path, card: Path) -> str:
    card.write_text("{}")
    return str(card)


@pytest.mark.parametrize("spoil", [gone, broken, another, device, no_card, card_of_nonsense])
def test_a_video_that_cannot_be_looked_at_has_no_pictures(
    spoil, dataset: Path, tmp_path: Path
) -> None:
    told = spoil(tmp_path / "videos" / "b.mp4", dataset / "features" / "b.json")
    report = report_of(dataset)
    assert strips_of(report) == {"a": list(range(N_PICTURES)), "b": None}
    assert report.facts["Pictures"].startswith("of 1 of the 2 videos")
    assert told in report.facts["Pictures"]


def test_without_the_package_a_report_has_no_pictures(
    dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(extras.__dict__, "import_module", _without_av)
    report = report_of(dataset)
    assert strips_of(report) == {"a": None, "b": None}
    assert "needs the package av" in report.facts["Pictures"]


def _without_av(name: str) -> None:
    raise ImportError(name)


def test_poses_are_no_videos(dataset: Path) -> None:
    for path in (dataset / "features").glob("*.json"):
        path.write_text(path.read_text().replace('"pixels"', '"poses"'))
    report = report_of(dataset)
    assert strips_of(report) == {"a": None, "b": None}
    assert "Pictures" not in report.facts


def test_a_page_of_many_videos_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise is the largest that pictures can be; only the first videos on the page have some."""
    monkeypatch.setattr(film_strips, "MAX_VIDEOS", 2)
    rng = np.random.default_rng(0)
    video = tmp_path / "noise.mp4"
    with video_writer(video, width=160, height=120, rate=10, quality=10) as write:
        for frame in range(24):
            write(rng.integers(0, 256, (120, 160, 3), np.uint8), frame / 10)
    card = FeatureCard(
        model="pixels",
        version=("1",),
        widths=(1,),
        source=str(video),
        source_bytes=video.stat().st_size,
        fingerprint="0",
        frames_per_second=10,
        seconds=2.4,
        n_frames=24,
        n_features=1,
        times=tuple(np.arange(24) / 10),
        source_frames=tuple(range(24)),
    )
    write_card(tmp_path / "noise.json", card)
    track = Track(Segmentation(np.array([0, 1]), np.array([10, 14])))
    names = [f"video {number}" for number in range(5)]
    comparison = compare({"one": {None: dict.fromkeys(names, track)}}, {}, CLASSES)
    comparison, facts = add_film_strips(comparison, lambda _: tmp_path / "noise.npy")
    strips = [one.strip for one in comparison.videos if one.strip is not None]
    assert len(strips) == 2
    assert facts == {"Pictures": "of 2 of the 5 videos"}
    assert all(sum(map(len, one.pictures)) < 60_000 for one in strips)
    text = page(Report("many", {}, vocabulary=CLASSES, comparison=comparison))
    assert len(text) + (MAX_VIDEOS - 2) * 80_000 < 2_500_000
