"""The app's server killed amid rapid edits, again and again: nothing acknowledged may be lost.

    python benchmarks/web_crash.py PROJECT [--kills 10] [--edits 200]

PROJECT is a project with a video of at least six seconds, which gets clicks. Every round starts the
server, edits the first video without a pause, kills the server (SIGKILL) at a random moment and
starts it again. One edit may be in flight when the kill comes; all others have to be there.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "web"))

from server_process import rapid_edits, served

from uvast.projects import Project


def events_of(client: object, video: str) -> dict[str, float]:
    """The server's events: id to start."""
    found = client.get(f"/api/videos/{video}").json()["events"]  # type: ignore[attr-defined]
    return {one["id"]: one["start"] for one in found}


def main() -> None:
    """Kills, compares, and prints one line per round."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("project", type=Path)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--edits", type=int, default=200)
    options = parser.parse_args()
    video = Project.open(options.project).names[0]
    acknowledged: dict[str, float] | None = None
    for round_ in range(options.kills + 1):
        with served(options.project) as server, server.client() as client:
            present = events_of(client, video)
            lost = 0 if acknowledged is None else len(acknowledged.items() ^ present.items())
            if acknowledged is not None:
                print(f"kill {round_}: {len(acknowledged)} events, {lost} different (at most 1)")
                assert lost <= 1, "an acknowledged edit is lost"
            acknowledged = dict(present)
            killer = threading.Timer(random.uniform(0.2, 3.0), server.kill)
            killer.start()
            rapid_edits(client, options.edits, acknowledged, video)
            killer.join()


if __name__ == "__main__":
    main()
