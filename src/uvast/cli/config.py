"""`uvast config`: all settings of a run, before it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from uvast.cli.options import SettingsOption, chosen_config


def config(
    preset: Annotated[
        str | None,
        typer.Option(help="The name of a preset, or a .toml file.", show_default="the defaults"),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--config", help="Settings from a TOML file.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="uvast, or another system with its published settings.")
    ] = None,
    settings: SettingsOption = None,
    as_list: Annotated[bool, typer.Option("--list", help="List the presets instead.")] = False,
) -> None:
    """Print all settings that a run would have, as TOML.

    The options work as in `uvast train`, and the output is a file for its --config.

    For example:

    ```
    uvast config --preset small --set train.epochs=50 > my.toml

    # all presets
    uvast config --list
    ```
    """
    if as_list:
        from uvast.presets import AUTO, AUTO_SUMMARY, preset_summary, presets

        summaries = {AUTO: AUTO_SUMMARY} | {name: preset_summary(name) for name in presets()}
        width = max(map(len, summaries))
        for name, summary in summaries.items():
            typer.echo(f"{name:{width}}  {summary}")
        return
    chosen = chosen_config(preset, file, model, settings or ())
    if model is not None:
        from uvast.models.build import builder_of

        builder_of(model)
    typer.echo(chosen.as_toml(), nl=False)
