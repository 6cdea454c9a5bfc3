"""The public surface is pinned: a name that comes or goes is a decision."""

from __future__ import annotations

import subprocess
import sys

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


def test_importing_is_lazy() -> None:
    code = "import uvast, sys; print([m for m in ('torch', 'numpy', 'rich') if m in sys.modules])"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert finished.stdout.strip() == "[]"
