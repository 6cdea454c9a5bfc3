"""A real cluster of two nodes on this machine; one of them is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray
from benchmark_types import MakeCell
from ray.cluster_utils import Cluster as Nodes

from in_process import uvast as uvast_here
from uvast.benchmark.cell_scores import is_finished
from uvast.benchmark.engine import run_cells
from uvast.benchmark.ray_engine import RayEngine
from uvast.errors import ConfigError
from uvast.features import generate_videos
from uvast.inference.cluster import Cluster
from uvast.runs import RunFolder

NODE = {"num_cpus": 1, "object_store_memory": 80_000_000}


@pytest.fixture(scope="module", autouse=True)
def as_urgent_as_others() -> Iterator[None]:
    """Ray's workers are nice by 15, and starve beside other tests on a machine of two cores."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_worker_niceness", "0")
        yield


@pytest.fixture(scope="module")
def nodes(as_urgent_as_others: None) -> Iterator[Nodes]:
    cluster = Nodes(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def uvast(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "uvast", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def meet(folder: Path) -> None:
    """Starts a worker on each of two nodes: neither node does all while the other one starts."""

    def come(number: int) -> int:
        import uvast.training  # noqa: F401 - torch and all

        (folder / f"{number}.here").touch()
        deadline = time.monotonic() + 120
        while len(list(folder.glob("*.here"))) < 2:
            assert time.monotonic() < deadline, "the other one did not come"
            time.sleep(0.01)
        return number

    assert dict(Cluster("auto").run(come, [0, 1])) == {0: 0, 1: 1}


def test_cells_survive_the_loss_of_a_node(
    nodes: Nodes, make_cell: MakeCell, tmp_path: Path
) -> None:
    second = nodes.add_node(**NODE)
    nodes.wait_for_nodes()
    meet(tmp_path)
    cells = [make_cell(seed=seed, train__epochs=60) for seed in (0, 1, 2)]
    interrupted: list[Path] = []
    over = threading.Event()

    def lose_a_node() -> None:
        """As soon as two cells are half-way: each node has one core, so each has one of them."""
        while len(interrupted) < 2 and not over.wait(0.01):
            begun = (path.parent for path in tmp_path.rglob("last.safetensors"))
            interrupted[:] = [run for run in begun if not (run / "scores.json").exists()]
        nodes.remove_node(second)

    watcher = threading.Thread(target=lose_a_node, daemon=True)
    watcher.start()
    try:
        outcomes = list(run_cells(cells, tmp_path, RayEngine(Cluster("auto"))))
    finally:
        over.set()
    watcher.join()
    assert len(interrupted) == 2
    assert [one.error for one in outcomes] == [None] * 3
    assert all(is_finished(cell, tmp_path) for cell in cells)
    assert sum(node["Alive"] for node in ray.nodes()) == 1
    for cell in cells:
        assert [row["epoch"] for row in RunFolder(tmp_path / cell.key).read_log()] == list(
            range(1, 61)
        )


def test_a_killed_worker_is_replaced_and_a_failure_is_a_sentence(
    nodes: Nodes, make_cell: MakeCell, tmp_path: Path
) -> None:
    flag = tmp_path / "flag"

    def dies_once(number: int) -> int:
        if number == 1 and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if number == 2:
            raise RuntimeError("a bug")
        return number * 10

    found = dict(Cluster("auto").run(dies_once, [0, 1, 2]))
    assert found == {0: 0, 1: 10, 2: "a bug"}
    assert flag.exists()
    bad = make_cell(dataset=tmp_path / "nowhere")
    (outcome,) = RayEngine(Cluster("auto")).run([bad], tmp_path)
    assert outcome.cell == bad
    assert outcome.error == f"{tmp_path}/nowhere: does not exist; give the folder of a dataset"


def test_a_task_that_dies_every_time_is_given_up(nodes: Nodes) -> None:
    def dies(_: int) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    ((_, reason),) = Cluster("auto", retries=0).run(dies, [0])
    assert reason.startswith("lost by the cluster (")


def test_resources_that_no_node_has_are_refused(nodes: Nodes) -> None:
    with pytest.raises(ConfigError, match="no node of the cluster has 1 CPUs and 2 GPUs; ask for"):
        list(Cluster("auto", gpus=2).run(print, [0]))


def test_videos_are_segmented_as_on_one_machine(
    nodes: Nodes, make_cell: MakeCell, tiny_path: Path, tmp_path: Path
) -> None:
    cell = make_cell()
    list(run_cells([cell], tmp_path, RayEngine(Cluster("auto"))))
    start = ("segment", tmp_path / cell.key, tiny_path, "--batch-size", 3, "--json")
    there = uvast_here(*start, "--out", tmp_path / "a", "--engine", "ray")
    assert there.returncode == 0, there.stderr
    here = uvast_here(*start, "--out", tmp_path / "b")
    assert len(json.loads(here.stdout)["videos"]) == 8
    names = sorted(path.name for path in (tmp_path / "b").iterdir())
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == names
    for name in names:
        assert (tmp_path / "a" / name).read_text() == (tmp_path / "b" / name).read_text()


def test_features_are_extracted_as_on_one_machine(nodes: Nodes, tmp_path: Path) -> None:
    generate_videos(tmp_path / "videos", n_videos=2, seconds=4.0, width=64, height=48)
    (tmp_path / "videos" / "bad.mp4").write_text("no video")
    start = ("extract", tmp_path / "videos", "--model", "pixels", "--json")
    there = uvast(*start, "--out", tmp_path / "a", "--engine", "ray", "--address", nodes.address)
    here = uvast_here(*start, "--out", tmp_path / "b")
    assert (there.returncode, here.returncode) == (2, 2), there.stderr
    first, second = (json.loads(one.stdout) for one in (there, here))
    assert first["videos"] == second["videos"]
    assert first["skipped"] == second["skipped"]
    assert list(first["skipped"]) == ["bad"]
    for path in (tmp_path / "b").iterdir():
        assert (tmp_path / "a" / path.name).read_bytes() == path.read_bytes()


def test_a_cluster_of_this_machine_alone(tiny_path: Path, tmp_path: Path) -> None:
    options = (
        "--models",
        "ms-tcn",
        "--splits",
        1,
        "--durations",
        "none",
        "--set",
        "train.epochs=1",
    )
    engine = ("--engine", "ray", "--address", "local")
    finished = uvast("benchmark", tiny_path, *options, *engine, "--out", tmp_path, "--json")
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout)[0]["splits"] == 1
