from pathlib import Path

import pytest

from uvast.data import DatasetSpec, read_spec, write_spec
from uvast.errors import ConfigError


def test_every_setting_has_a_default(tmp_path: Path) -> None:
    assert read_spec(tmp_path) == DatasetSpec()
    assert DatasetSpec().tolerance == 0.02


def test_settings_round_trip(tmp_path: Path) -> None:
    spec = DatasetSpec(
        frames_per_second=15.0,
        sampling_rate=2,
        background=("SIL", "end"),
        feature_axis="features-first",
        timestamps_rate="sampled",
        tolerance=0.0,
        group_by=r"^(P\d+)_",
    )
    write_spec(tmp_path, spec)
    assert read_spec(tmp_path) == spec


def test_a_list_of_classes_and_a_folder_as_text(tmp_path: Path) -> None:
    spec = DatasetSpec(background=["SIL"])  # type: ignore[arg-type]
    assert spec == DatasetSpec(background=("SIL",))
    write_spec(str(tmp_path), spec)
    assert read_spec(str(tmp_path)) == spec


def test_only_what_differs_from_the_defaults_is_written(tmp_path: Path) -> None:
    write_spec(tmp_path, DatasetSpec(sampling_rate=2))
    assert (tmp_path / "dataset.toml").read_text() == "sampling_rate = 2\n"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("fps = 3", "unknown setting 'fps'; choose from frames_per_second, sampling_rate, "
         "background, feature_axis, timestamps_rate, tolerance, group_by, symmetry"),
        ("frames_per_second = 0", "frames_per_second is 0, not above 0; "
         "correct frames_per_second"),
        ("sampling_rate = 1.5", "sampling_rate is 1.5, not a whole number; "
         "correct sampling_rate"),
        ("sampling_rate = true", "sampling_rate is True, not a whole number; "
         "correct sampling_rate"),
        ("background = [1]", "background.0 is 1, not text; correct background"),
        ('background = "SIL"', "background is 'SIL', not a list; "
         "correct background"),
        ('feature_axis = "FxT"', "feature_axis is 'FxT', not 'time-first' or "
         "'features-first'; correct feature_axis"),
        ("timestamps_rate = 2", "timestamps_rate is 2, not 'source' or 'sampled'; "
         "correct timestamps_rate"),
        ("tolerance = 1", "tolerance is 1, above 0.1; "
         "correct tolerance"),
        ('group_by = "P"', "group_by is 'P', not a regular expression with one group, "
         r"as in '^(P\d+)_'; correct group_by"),
    ],
)  # fmt: skip
def test_faulty_settings(tmp_path: Path, line: str, sentence: str) -> None:
    path = tmp_path / "dataset.toml"
    path.write_text(line)
    with pytest.raises(ConfigError) as caught:
        read_spec(tmp_path)
    assert str(caught.value) == f"{path}: {sentence}"


def test_no_toml(tmp_path: Path) -> None:
    (tmp_path / "dataset.toml").write_text("sampling_rate = ")
    with pytest.raises(ConfigError, match=r"dataset.toml: is not valid TOML \(.*\); correct it"):
        read_spec(tmp_path)


def test_a_lenient_reader_keeps_the_right_settings(tmp_path: Path) -> None:
    (tmp_path / "dataset.toml").write_text("fps = 3\ntolerance = 2\nsampling_rate = 3\n")
    faults: list[Exception] = []
    assert read_spec(tmp_path, faults.append) == DatasetSpec(sampling_rate=3)
    assert len(faults) == 2


def test_a_wrong_setting_in_python() -> None:
    with pytest.raises(ConfigError, match="sampling_rate is 0, below 1"):
        DatasetSpec(sampling_rate=0)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (f"sampling_rate = {2**63}", "sampling_rate is 9223372036854775808, above 1000000"),
        (f"sampling_rate = {'9' * 5000}", "has a number with thousands of digits"),
        (f"frames_per_second = {10**400}", "frames_per_second is 1000"),
        ("frames_per_second = inf", "frames_per_second is inf, not a finite number"),
        ("frames_per_second = 100001", "frames_per_second is 100001, above 100000"),
        ("tolerance = nan", "tolerance is nan, "),
        (r'group_by = "(\\d"', r"group_by is '(\\d', not a regular expression with one group"),
        (f'group_by = "({"a" * 300})"', "group_by is '(aaaa"),
        ("[tolerance]\na = 1", "tolerance is {'a': 1}, not a number"),
        ("tolerance = " + "[" * 5000, "is TOML nested too deeply"),
        ("group_by = 1979-05-27", "group_by is '1979-05-27', not a regular expression"),
    ],
)
def test_settings_beyond_all_bounds(tmp_path: Path, line: str, sentence: str) -> None:
    (tmp_path / "dataset.toml").write_text(line)
    with pytest.raises(ConfigError) as caught:
        read_spec(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'dataset.toml'}: {sentence}")
    assert len(str(caught.value)) < 700
