"""The table of commands. A command is imported when it is called, so that `--help` stays quick."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

COMMANDS = {
    "demo": (
        "demo:demo",
        "Try everything in two minutes: from video files to the actions of new ones.",
    ),
    "init": ("init:init", "Make a project from your videos, or add videos to it."),
    "import": (
        "import_labels:import_command",
        "Import labels from other tools into a project; all files or none.",
    ),
    "export": (
        "export:export",
        "Export the labels of a project, or predictions, for another tool.",
    ),
    "convert": (
        "convert:convert",
        "Convert annotation files: ELAN, BORIS, VIA, Label Studio, tables, subtitles and more.",
    ),
    "agree": (
        "agree:agree",
        "Compare two annotators: kappa, F1, boundary differences and a confusion table.",
    ),
    "pseudo-label": (
        "pseudo_label:pseudo_label",
        "Make labels for every frame from one annotated frame per action.",
    ),
    "config": ("config:config", "Print all settings that a run would have, as TOML."),
    "extract": ("extract:extract", "Extract features from videos."),
    "train": ("train:train", "Train a model."),
    "ensemble": (
        "ensemble:ensemble",
        "Join trained models into one that averages their predictions.",
    ),
    "segment": ("segment:segment", "Segment videos with a trained model."),
    "overlay": (
        "overlay:overlay",
        "Draw labels, confidences and a timeline under a video; its sound is left out.",
    ),
    "app": ("app:app", "Annotate, train and review in the browser."),
    "evaluate": ("evaluate:evaluate", "Score predictions: Acc, Edit and F1@10/25/50."),
    "report": (
        "report:report",
        "Write one HTML page: scores, timelines, times, classes, attention, training, "
        "configuration.",
    ),
    "benchmark": (
        "benchmark:benchmark",
        "Train and score models on every split, and print one table.",
    ),
    "compare": (
        "compare:compare",
        "Compare settings by cross-validation inside training sides; test sides stay unseen.",
    ),
    "reproduce": (
        "reproduce:reproduce",
        "Compute a table of the paper, published numbers beside ours.",
    ),
    "sweep": (
        "sweep:sweep",
        "Find good settings, judged on a validation part of the training side.",
    ),
    "data": ("data:app", "Check, split and generate datasets."),
}
"""By name, in the order of the help: `module:function`, and the first sentence of its help."""


class QuickGroup(TyperGroup):
    """A group of commands that does not import pydantic only to read its own flags."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the options before the command's name."""
        for option in self.get_params(ctx):
            # typer's own, such as --help, default to None, and typer checks None with pydantic
            if getattr(option, "is_flag", False) and option.default is None:
                option.default = False
        return super().parse_args(ctx, args)


class Deferred(TyperCommand):
    """Stands in for a command until it is called; the callback returns the command itself."""

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        """The context of the command itself: from here on, typer deals only with that."""
        return self.command.make_context(info_name, args, parent, **extra)

    @cached_property
    def command(self) -> Any:
        """The command itself, or the group of commands."""
        assert self.callback is not None
        return self.callback()


def add_commands(app: typer.Typer) -> None:
    """Adds every command of the table, without importing any."""
    for name, (place, summary) in COMMANDS.items():
        app.command(name, cls=Deferred, help=summary)(_importer(name, place))


def _importer(name: str, place: str) -> Callable[[], Any]:
    def import_it() -> Any:
        module, _, attribute = place.partition(":")
        found = getattr(import_module(f"uvast.cli.{module}"), attribute)
        if isinstance(found, typer.Typer):
            return typer.main.get_command(found)
        alone = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        alone.command(name)(found)
        return typer.main.get_command(alone)

    return import_it
