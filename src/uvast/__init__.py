"""uvast splits long videos into actions: from full labels, or from one click per action.

    import uvast

    uvast.train("data/gtea", "runs/gtea-1", config=uvast.load_config("gtea"), split=1)
    model = uvast.load("runs/gtea-1")
    prediction = model.segment("features/new-video.npy", transcript="best")

Everything is imported on first use.
"""

from __future__ import annotations

from uvast._version import __version__

TYPE_CHECKING = False  # type checkers take it as true; importing typing would be slow
if TYPE_CHECKING:
    from uvast.config import Config, load_config
    from uvast.data import Dataset, generate_dataset
    from uvast.errors import UvastError
    from uvast.evaluation import evaluate, score
    from uvast.inference import Prediction, Segmenter, load, segment
    from uvast.segments import Segment, Segmentation
    from uvast.training import resume, train
    from uvast.vocabulary import Vocabulary

_HOMES = {
    "Config": "config",
    "Dataset": "data",
    "Prediction": "inference",
    "Segment": "segments",
    "Segmentation": "segments",
    "Segmenter": "inference",
    "UvastError": "errors",
    "Vocabulary": "vocabulary",
    "evaluate": "evaluation",
    "generate_dataset": "data",
    "load": "inference",
    "load_config": "config",
    "resume": "training",
    "score": "evaluation",
    "segment": "inference",
    "train": "training",
}

__all__ = [
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


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"uvast.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
