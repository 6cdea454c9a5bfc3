"""What `--engine ray` says without Ray, or without a cluster; `test_ray_engine` has a real one."""

from __future__ import annotations

import pytest

from uvast.errors import ConfigError
from uvast.inference import cluster
from uvast.inference.cluster import Cluster


@pytest.mark.parametrize("address", ["127.0.0.1:1", "somewhere", "here:there"])
def test_an_absent_cluster_is_one_sentence(address: str) -> None:
    with pytest.raises(
        ConfigError, match=f"--address: no Ray cluster at '{address}' .*; start one"
    ):
        list(Cluster(address).run(print, [1]))


def test_a_missing_extra_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(cluster, "import_module", absent)
    with pytest.raises(
        ConfigError, match=r"needs the package ray; .*'\.\[cluster\]' in uvast's folder"
    ):
        list(Cluster().run(print, [1]))
