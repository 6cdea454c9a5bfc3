"""Several processes."""

from __future__ import annotations

import pytest
import torch

from uvast.training.distributed import own_device


def test_every_process_takes_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert own_device(torch.device("cuda")) == torch.device("cuda", 3)
    assert own_device(torch.device("cuda", 1)) == torch.device("cuda", 1)
    assert own_device(torch.device("cpu")) == torch.device("cpu")
    monkeypatch.delenv("LOCAL_RANK")
    assert own_device(torch.device("cuda")) == torch.device("cuda")
