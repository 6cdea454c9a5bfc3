"""Who waits for whom: proxies do not wait for a training."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from uvast.web.jobs import Jobs

LONG = (sys.executable, "-c", "import time; time.sleep(60)")


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    found = Jobs(tmp_path)
    yield found
    for job in found.all:
        if job.process is not None and job.process.is_alive:
            job.process.stop(kill=True)


def test_a_proxy_runs_beside_a_training_and_one_of_each_at_a_time(jobs: Jobs) -> None:
    jobs.add("train", LONG)
    jobs.add("segment", LONG)
    jobs.add("proxy", LONG, video="cup")
    jobs.add("proxy", LONG, video="tea")
    jobs.step()
    jobs.step()
    running = [(job.kind, job.video) for job in jobs.all if job.state == "running"]
    assert sorted(running, key=str) == [("proxy", "cup"), ("train", None)]
