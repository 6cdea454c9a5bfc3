"""`uvast ensemble`: trained runs joined into one that averages them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from uvast.cli.console import note
from uvast.cli.options import run_of


def ensemble(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Two or more finished runs.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(help="The run folder to make.")],
) -> None:
    """Join trained models into one that averages their predictions.

    It averages their frame probabilities and the scores of their transcripts. For segment, report
    and the app the result is a run like any other. It holds a copy of every model, so it can be
    moved, and the original runs can be deleted.

    The models may be of different kinds (uvast, asformer, ms-tcn, …). They need the same classes,
    the same features and the same sampling rate. An ensemble among them adds its members.

    For example:

    ```
    uvast ensemble runs/1 runs/2 runs/3 --out runs/together
    uvast segment runs/together videos --out predictions

    # or train several models at once
    uvast train my-videos --members 3 --out run
    ```
    """
    from uvast.inference.ensemble import make_ensemble
    from uvast.runs import RunFolder

    folder = make_ensemble([run_of(run) for run in runs], out)
    info = RunFolder.open(folder.path).info
    note(f"the model, an ensemble of {len(info.members)}, is in {out}")
    if info.split is None and info.train:
        note(f"its members have learned from {len(info.train)} videos: score it on others")
