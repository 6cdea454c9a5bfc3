"""Paths may be given as text wherever Python users meet them."""

from pathlib import Path

from uvast.data import Dataset, DatasetSpec, Split, read_timestamps, write_splits


def test_paths_may_be_plain_text(tmp_path: Path) -> None:
    (tmp_path / "groundTruth").mkdir()
    (tmp_path / "groundTruth" / "v.txt").write_text("a\n")
    (tmp_path / "timestamps.json").write_text('{"v": [{"frame": 0, "label": "a"}]}')
    write_splits(f"{tmp_path}/splits", {1: Split(("v",), ("v",))})
    dataset = Dataset(str(tmp_path), DatasetSpec())
    assert dataset.names == ("v",)
    assert list(dataset.splits) == [1]
    assert list(read_timestamps(f"{tmp_path}/timestamps.json")) == ["v"]
