"""`onnx:FILE.onnx`: real models in onnxruntime, their input as the TOML beside says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from uvast.errors import ConfigError
from uvast.features.extractor import Request
from uvast.features.onnx_model import make


def write_model(path: Path, shape: list[int | str], axes: list[int], settings: str) -> Request:
    """A model that gives the mean over `axes`, what is left being (1, colours)."""
    graph = helper.make_graph(
        [
            helper.make_node("ReduceMean", ["pixels", "axes"], ["means"], keepdims=0),
            helper.make_node("Identity", ["pixels"], ["copy"]),
        ],
        "means",
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, shape)],
        [
            helper.make_tensor_value_info("means", TensorProto.FLOAT, None),
            helper.make_tensor_value_info("copy", TensorProto.FLOAT, None),
        ],
        [helper.make_tensor("axes", TensorProto.INT64, [len(axes)], axes)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, path)
    path.with_suffix(".toml").write_text(settings)
    return Request(15.0, 30.0, "cpu", str(path))


def frames(n_frames: int) -> np.ndarray:
    values = np.random.default_rng(0).integers(0, 256, (n_frames, 1, 1, 3), dtype=np.uint8)
    return np.broadcast_to(values, (n_frames, 4, 6, 3))


PLAIN = "mean = [0.0, 0.5, 0.0]\ndeviation = [1.0, 1.0, 2.0]\nheight = 4\nwidth = 6\n"


@pytest.mark.parametrize(
    ("layout", "shape", "axes"),
    [("NCHW", [1, 3, 4, 6], [2, 3]), ("NHWC", ["n", 4, 6, 3], [1, 2])],
)
def test_an_image_model_sees_scaled_pictures(layout, shape, axes, tmp_path):
    request = write_model(tmp_path / "m.onnx", shape, axes, f'{PLAIN}layout = "{layout}"\n')
    extractor = make(request)
    pictures = frames(5)
    expected = (pictures[:, 0, 0] / 255 - [0, 0.5, 0]) / [1, 1, 2]
    assert extractor(pictures) == pytest.approx(expected, abs=1e-5)
    assert (extractor.width, extractor.stride, extractor.context) == (3, 1, 0)
    assert (extractor.view.picture.height, extractor.view.rate) == (4, 15.0)
    assert extractor.name == "onnx:m.onnx"


@pytest.mark.parametrize(
    ("layout", "shape", "axes"),
    [
        ("NCTHW", [1, 3, 5, 4, 6], [2, 3, 4]),
        ("NTCHW", [1, 5, 3, 4, 6], [1, 3, 4]),
        ("NTHWC", [1, 5, 4, 6, 3], [1, 2, 3]),
    ],
)
def test_a_clip_model_sees_frames_around_each_place(layout, shape, axes, tmp_path):
    settings = f'{PLAIN}layout = "{layout}"\nwindow = 5\nstride = 2\nframes_per_second = 10\n'
    extractor = make(write_model(tmp_path / "m.onnx", shape, axes, settings))
    pictures = frames(9)
    scaled = (pictures[:, 0, 0] / 255 - [0, 0.5, 0]) / [1, 1, 2]
    around = [np.clip(np.arange(i - 2, i + 3), 0, 8) for i in range(0, 9, 2)]
    expected = [scaled[places].mean(0) for places in around]
    assert extractor(pictures) == pytest.approx(np.array(expected), abs=1e-5)
    assert (extractor.context, extractor.view.rate) == (2, 10.0)
    assert extractor.window % extractor.stride == 0


def test_the_version_is_of_model_and_settings(tmp_path):
    versions = set()
    for name, extra in (("a", ""), ("b", ""), ("c", 'fit = "crop"\n')):
        request = write_model(tmp_path / f"{name}.onnx", [1, 3, 4, 6], [2, 3], PLAIN + extra)
        versions.add(make(request).version)
    assert len(versions) == 2


def move_weights(path: Path, file: str, bias: float) -> None:
    """Adds a bias to the means of a model, whose value is in a file beside it."""
    model = onnx.load(path)
    model.graph.node[0].output[0] = "plain"
    model.graph.node.append(helper.make_node("Add", ["plain", "bias"], ["means"]))
    values = np.full(3, bias, np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(values, "bias"))
    onnx.save(model, path, save_as_external_data=True, location=file, size_threshold=0)


@pytest.mark.parametrize("folder", ["", "w" * 150 + "/"], ids=["beside", "below"])
def test_the_version_is_of_the_weights_in_files_of_their_own(folder, tmp_path):
    versions = []
    for name, bias in (("a", 1.0), ("b", 1.0), ("c", 2.0)):
        path = tmp_path / name / "m.onnx"
        (path.parent / folder).mkdir(parents=True)
        request = write_model(path, [1, 3, 4, 6], [2, 3], PLAIN)
        move_weights(path, f"{folder}m.data", bias)
        versions.append(make(request).version)
    models = {(tmp_path / name / "m.onnx").read_bytes() for name in "abc"}
    assert len(models) == 1, "the weights are in the other file"
    assert versions[0] == versions[1] != versions[2]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ("height = 4", r"width: Field required; correct it; the settings are height, width"),
        (PLAIN + "size = 3", "size: Extra inputs are not permitted"),
        (PLAIN + "window = 4", "window 4 does not go with layout NCHW"),
        (PLAIN + "height 4", "is not valid TOML"),
        (PLAIN.replace("4", "5"), "does not take the input that its .toml describes"),
        (PLAIN + 'output = "copy"', r"gives an array of shape \(1, 3, 4, 6\); export a model"),
    ],
)
def test_wrong_settings_are_one_sentence(settings, sentence, tmp_path):
    request = write_model(tmp_path / "m.onnx", [1, 3, 4, 6], [2, 3], settings)
    with pytest.raises(ConfigError, match=sentence) as error:
        make(request)
    assert "\n" not in str(error.value)


def test_missing_and_damaged_files_are_one_sentence(tmp_path):
    with pytest.raises(ConfigError, match=r"m\.toml: does not exist; describe the model's"):
        make(Request(15.0, 30.0, "cpu", str(tmp_path / "m.onnx")))
    (tmp_path / "m.toml").write_text(PLAIN)
    with pytest.raises(ConfigError, match=r"m\.onnx: does not exist"):
        make(Request(15.0, 30.0, "cpu", str(tmp_path / "m.onnx")))
    (tmp_path / "m.onnx").write_bytes(b"no model")
    with pytest.raises(ConfigError, match="cannot be read as an ONNX model"):
        make(Request(15.0, 30.0, "cpu", str(tmp_path / "m.onnx")))
