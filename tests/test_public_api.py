"""The public surface is pinned: a name that comes or goes is a decision."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import uvast


def test_the_exported_names() -> None:
    assert uvast.__all__ == [
        "Config",
        "Dataset",
        "Prediction",
        "Segment",
        "Segmentation",
        "Segmenter",
        "UvastError",
        "Vocabulary",
        "__version__",
        "evaluate",
        "generate_dataset",
        "load",
        "load_config",
        "resume",
        "score",
        "segment",
        "train",
    ]
    for name in uvast.__all__:
        assert getattr(uvast, name) is not None
    assert dir(uvast) == uvast.__all__


def test_the_documented_names_are_where_the_page_says() -> None:
    page = (Path(__file__).parents[1] / "docs" / "api.md").read_text("utf-8")
    introduction, *blocks = page.split("::: uvast.")
    for block in blocks:
        home, _, name = block.split()[0].rpartition(".")
        members = re.search(r"members: \[(.*)\]", block)
        package = f"uvast.{(home or name).split('.')[0]}"
        for one in members[1].split(", ") if members else [name]:
            is_told = f"`{package}`" in introduction and hasattr(import_module(package), one)
            assert one in uvast.__all__ or is_told, one
            if members:
                assert one in vars(import_module(f"uvast.{block.split()[0]}")), one


def test_importing_is_lazy() -> None:
    code = "import uvast, sys; print([m for m in ('torch', 'numpy', 'rich') if m in sys.modules])"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert finished.stdout.strip() == "[]"
