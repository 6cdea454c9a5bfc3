"""C2F-TCN's step on a batch, packed as it is trained and padded to the longest video.

    python benchmarks/packing.py [--threads N] [--calls 5]

Eleven videos of GTEA's shortest to longest length, 33 features, its preset's chunk sizes. Both ways
are measured in one run, and have to give the same loss.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING
from unittest.mock import patch

import torch
from torch import Tensor

from machine import measure
from uvast.models.c2f_tcn import C2fTcn, C2fTcnDimensions, ConvolutionBlock

if TYPE_CHECKING:
    from uvast.models.resampling import Rate

LENGTHS = (634, 700, 812, 900, 1000, 1060, 1115, 1200, 1300, 1500, 2009)


def padded(block: ConvolutionBlock, x: Tensor, rate: Rate) -> Tensor:
    """A block of convolutions on the padded batch."""
    return block._convolved(x, rate.mask)


def main() -> None:
    """Prints both times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--calls", type=int, default=5, help="steps of which the median is taken")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    model = C2fTcn(C2fTcnDimensions(n_features=33, n_classes=11)).train()
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS).unsqueeze(1)
    features = torch.randn(len(LENGTHS), max(LENGTHS), 33) * mask.unsqueeze(2)
    losses = []

    def step() -> None:
        torch.manual_seed(1)  # the same chunk sizes in every step
        model.zero_grad()
        loss = model.encode(features, mask).logits[mask].square().mean()
        loss.backward()
        losses.append(loss.item())

    packed = measure(step, arguments.calls).median
    with patch.object(ConvolutionBlock, "forward", padded):
        unpacked = measure(step, arguments.calls).median
    assert max(losses) - min(losses) < 1e-5 * max(losses), "both ways are the same step"
    print(f"{arguments.threads} threads, {len(LENGTHS)} videos")
    print(f"packed {packed:.0f} ms, padded {unpacked:.0f} ms: {unpacked / packed:.2f} times")


if __name__ == "__main__":
    main()
