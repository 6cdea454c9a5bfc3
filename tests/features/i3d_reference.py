"""A tiny I3D checkpoint in the published layout, and a plain network that reads it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn import functional

MIXED = ("3b", "3c", "4b", "4c", "4d", "4e", "4f", "5b", "5c")
WIDTHS = (3, 4, 5, 2, 3, 4)
N_CLASSES = 7


def tiny_checkpoint(seed: int = 0) -> dict[str, Any]:
    """`params` and `batch_stats`, nested as in the package, with a few channels each."""
    generator = np.random.default_rng(seed)
    params: dict[str, Any] = {}
    statistics: dict[str, Any] = {}

    def add(name: str, size: int, n_in: int, n_out: int) -> None:
        parts = name.split("/")
        inner, outer = params, statistics
        for part in parts:
            inner, outer = inner.setdefault(part, {}), outer.setdefault(part, {})
        shape = (size, size, size, n_in, n_out)
        kernel = generator.normal(size=shape) * (2 / (size**3 * n_in)) ** 0.5
        inner["Conv_0"] = {"kernel": kernel.astype(np.float32)}
        inner["BatchNorm_0"] = {"bias": generator.normal(0.2, 0.2, n_out).astype(np.float32)}
        wide = (1, 1, 1, 1, n_out)
        outer["BatchNorm_0"] = {
            "mean": generator.normal(0, 0.2, wide).astype(np.float32),
            "var": generator.uniform(0.5, 1.5, wide).astype(np.float32),
        }

    add("Conv3d_1a_7x7", 7, 3, 6)
    add("Conv3d_2b_1x1", 1, 6, 6)
    add("Conv3d_2c_3x3", 3, 6, 8)
    n_in = 8
    a, b, c, d, e, f = WIDTHS
    for block in MIXED:
        place = f"Mixed_{block}/"
        add(f"{place}Branch_0/Conv3d_0a_1x1", 1, n_in, a)
        add(f"{place}Branch_1/Conv3d_0a_1x1", 1, n_in, b)
        add(f"{place}Branch_1/Conv3d_0b_3x3", 3, b, c)
        add(f"{place}Branch_2/Conv3d_0a_1x1", 1, n_in, d)
        add(f"{place}Branch_2/Conv3d_0b_3x3", 3, d, e)
        add(f"{place}Branch_3/Conv3d_0b_1x1", 1, n_in, f)
        n_in = a + c + e + f
    params["Logits"] = {
        "Conv3d_0c_1x1": {
            "Conv_0": {
                "kernel": generator.normal(size=(1, 1, 1, n_in, N_CLASSES)).astype(np.float32),
                "bias": generator.normal(size=N_CLASSES).astype(np.float32),
            }
        }
    }
    return {"params": params, "batch_stats": statistics}


def plain_i3d(arrays: dict[str, np.ndarray], clip: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Features `(T', C)` and class scores of a clip `(T, H, W, 3)`, padded by the formula."""

    def padded(x: torch.Tensor, sizes: tuple[int, ...], strides: tuple[int, ...], value: float):
        pads: list[int] = []
        for length, size, stride in zip(x.shape[2:], sizes, strides, strict=True):
            total = max((-(-length // stride) - 1) * stride + size - length, 0)
            pads = [total // 2, total - total // 2, *pads]
        return functional.pad(x, pads, value=value)

    def unit(x: torch.Tensor, name: str, stride: int = 1) -> torch.Tensor:
        kernel = torch.from_numpy(arrays[f"params/{name}/Conv_0/kernel"]).permute(4, 3, 0, 1, 2)
        size, strides = tuple(kernel.shape[2:]), (stride,) * 3
        x = functional.conv3d(padded(x, size, strides, 0.0), kernel, None, strides)
        mean, var, bias = (
            torch.from_numpy(arrays[key]).reshape(1, -1, 1, 1, 1)
            for key in (
                f"batch_stats/{name}/BatchNorm_0/mean",
                f"batch_stats/{name}/BatchNorm_0/var",
                f"params/{name}/BatchNorm_0/bias",
            )
        )
        return functional.relu((x - mean) / torch.sqrt(var + 1e-3) + bias)

    def pool(x: torch.Tensor, sizes: tuple[int, ...], strides: tuple[int, ...]) -> torch.Tensor:
        return functional.max_pool3d(padded(x, sizes, strides, -torch.inf), sizes, strides)

    def mixed(x: torch.Tensor, name: str) -> torch.Tensor:
        first = unit(x, f"{name}/Branch_0/Conv3d_0a_1x1")
        second = unit(unit(x, f"{name}/Branch_1/Conv3d_0a_1x1"), f"{name}/Branch_1/Conv3d_0b_3x3")
        third = unit(unit(x, f"{name}/Branch_2/Conv3d_0a_1x1"), f"{name}/Branch_2/Conv3d_0b_3x3")
        fourth = unit(pool(x, (3, 3, 3), (1, 1, 1)), f"{name}/Branch_3/Conv3d_0b_1x1")
        return torch.cat((first, second, third, fourth), 1)

    x = pool(unit(clip.permute(3, 0, 1, 2)[None], "Conv3d_1a_7x7", 2), (1, 3, 3), (1, 2, 2))
    x = unit(unit(x, "Conv3d_2b_1x1"), "Conv3d_2c_3x3")
    x = pool(x, (1, 3, 3), (1, 2, 2))
    for index, block in enumerate(MIXED):
        x = mixed(x, f"Mixed_{block}")
        if index == 1:
            x = pool(x, (3, 3, 3), (2, 2, 2))
        if index == 6:
            x = pool(x, (2, 2, 2), (2, 2, 2))
    features = x.mean((3, 4))[0].T
    # the published head: an average over two frames and all places, then the classes
    places = tuple(x.shape[3:])
    head = functional.avg_pool3d(x, (2, *places), 1)[0, :, :, 0, 0].mean(1)
    kernel = torch.from_numpy(arrays["params/Logits/Conv3d_0c_1x1/Conv_0/kernel"])[0, 0, 0]
    bias = torch.from_numpy(arrays["params/Logits/Conv3d_0c_1x1/Conv_0/bias"])
    return features, head @ kernel + bias
