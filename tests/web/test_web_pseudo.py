"""Segments from clicks: of many videos, whose features do not all stay in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from web_project import Client, opened

from uvast.projects import Project, ProjectVideo
from uvast.supervision import ClassModel
from uvast.web.full_pass import NamedModel
from uvast.web.segmenting import N_READY

NAMES = [f"video{number}" for number in range(N_READY + 2)]


@pytest.fixture
def many(tmp_path: Path, static: Path) -> Iterator[Client]:
    """More videos than are held ready; their features change at 2 s, of 6."""
    (tmp_path / "features").mkdir()
    labels = np.arange(60) >= 20
    rng = np.random.default_rng(0)
    for name in NAMES:
        features = 10.0 * labels[:, None] + rng.normal(size=(60, 4))
        np.save(tmp_path / "features" / f"{name}.npy", features.astype(np.float32))
    (tmp_path / "dataset.toml").write_text('frames_per_second = 10\nfeature_axis = "time-first"\n')
    with opened(Project.create(tmp_path, [])[0], static) as client:
        yield client


@pytest.fixture
def reads(many: Client, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the features of each video were read."""
    counted, real = Counter[str](), many.app.media.features

    def features(video: ProjectVideo) -> Any:
        counted[video.name] += 1
        return real(video)

    monkeypatch.setattr(many.app.media, "features", features)
    return counted


def click_all(client: Client) -> None:
    for name in NAMES:
        clicks = [
            {"do": "add", "kind": "click", "label": label, "start": start}
            for label, start in (("reach", 0.5), ("pour", 5.5))
        ]
        client.change(name, *clicks)


def settle(client: Client) -> None:
    """A few seconds of the server, and whatever they led to."""
    for _ in range(4):
        client.app.states.refresh()
        client.app.pseudo._worker.submit(lambda: None).result(60)


def test_all_videos_are_cut_by_features_that_are_read_once(
    many: Client, reads: Counter[str]
) -> None:
    click_all(many)
    settle(many)
    videos = [many.video(name) for name in NAMES]
    assert {one["pseudo_by"] for one in videos} == {"features"}
    assert [one["pseudo"][0]["end"] for one in videos] == pytest.approx([2.0] * len(NAMES), abs=0.3)
    assert reads == Counter(NAMES)
    many.change(NAMES[0], {"do": "move", "id": "e1", "start": 1.0})  # not at hand any more
    settle(many)
    assert many.video(NAMES[0])["pseudo_by"] == "features"
    assert reads == Counter([*NAMES, NAMES[0]])


def test_features_that_cannot_be_read_are_tried_once(
    many: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = list[str]()

    def too_large(video: ProjectVideo) -> None:
        tried.append(video.name)
        raise MemoryError

    monkeypatch.setattr(many.app.media, "features", too_large)
    click_all(many)
    settle(many)
    assert {many.video(name)["pseudo_by"] for name in NAMES} == {"midpoint"}
    assert tried == NAMES


def test_a_new_model_cuts_what_is_at_hand_and_reads_nothing(
    many: Client, reads: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    click_all(many)
    settle(many)
    pseudo = many.app.pseudo
    ones, none = np.ones((2, 4)), np.zeros((2, 2))
    model = ClassModel(10 * ones, ones, ones[:, 0], ones[:, 0], none)
    named = NamedModel(("pour", "reach"), model)
    models = iter([named])
    monkeypatch.setattr(pseudo._pass, "step", lambda *_, **__: next(models, None))
    pseudo.step(1, 0.0, idle=True)
    settle(many)
    assert reads == Counter(NAMES)
    assert sum(one.model is named for one in pseudo._found.values()) == N_READY
    assert {many.video(name)["pseudo_by"] for name in NAMES} == {"features"}
