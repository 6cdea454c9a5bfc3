"""What the rooms' tests share: a small generated dataset, made once, and a browser."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # read when torch and numpy are imported

import pytest
import torch
from hypothesis import settings
from playwright.sync_api import Browser, expect, sync_playwright

from uvast.config import Config
from uvast.data import Dataset, generate_dataset

torch.set_num_threads(1)  # also for fixtures of a module or a session, which come before any test's

# a loaded machine is slow, not wrong; in CI the rest of Hypothesis' own profile `ci` stays
settings.register_profile("patient", settings.default, deadline=None)
settings.load_profile("patient")
expect.set_options(timeout=30_000)

# a shell's background jobs ignore Ctrl-C, and so would every command that the tests start from one
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SMALL_NETWORK = {
    "model.width": 16,
    "model.attention_width": 8,
    "model.n_encoder_layers": 5,
    "model.decoder_feedforward": 32,
    "model.alignment_feedforward": 32,
    "train.epochs": 3,
    "train.alignment_epochs": 2,
    "train.checkpoint_seconds": 0.0,
}


@pytest.fixture(scope="session")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "tiny"
    generate_dataset(
        path, n_videos=8, n_classes=5, n_frames=60, n_features=6, n_subjects=4, n_splits=2, seed=3
    )
    return path


@pytest.fixture
def tiny(tiny_path: Path) -> Dataset:
    return Dataset.open(tiny_path)


@pytest.fixture(scope="session")
def small_config() -> Config:
    return Config().replaced(**SMALL_NETWORK)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers on two cores: torch's threads must not fight, nor those of other processes."""
    torch.set_num_threads(1)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""Chromium asks no network and runs as root in a container."""


LONGEST = ("test_readme.py", "test_page_training.py", "test_own_videos.py", "test_local_engine.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests come first, so that no worker has one left when the others are done."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        # On a machine with Python alone the other tests still tell; CI installs a browser.
        tell = pytest.fail if os.environ.get("CI") else pytest.skip
        tell("these tests need chromium on the PATH: apt-get install chromium")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield running
        running.close()
