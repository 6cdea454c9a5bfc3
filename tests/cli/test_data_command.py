import json
import re
import sys
from pathlib import Path

import pytest

from uvast.cli.main import main
from uvast.data import Dataset, generate_dataset


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Runs the command line: `(exit code, stdout, stderr)`."""
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["uvast", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        return (caught.value.code or 0, *capsys.readouterr())

    return run


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    generate_dataset(tmp_path / "demo", n_videos=6, n_classes=4, n_frames=60, n_features=3)
    return tmp_path / "demo"


def test_generate_then_check(run, tmp_path: Path) -> None:
    out = tmp_path / "demo"
    code, _, notes = run(
        "data", "generate", out, "--videos", 5, "--classes", 4, "--frames", 60, "--seed", 7
    )
    assert code == 0
    assert notes.replace("\n", " ").strip() == (
        f"wrote 5 videos to {out}; look at them with uvast data check {out}"
    )
    code, table, _ = run("data", "check", out)
    assert code == 0
    assert "videos" in table
    assert table.rstrip().endswith("no problems")


def test_check_lists_all_problems_and_exits_with_2(run, dataset: Path) -> None:
    names = Dataset.open(dataset).names
    for name in names[:2]:
        (dataset / "groundTruth" / f"{name}.txt").write_text("")
    code, output, _ = run("data", "check", dataset)
    assert code == 2
    lines = output.splitlines()
    for name in names[:2]:
        path = dataset / "groundTruth" / f"{name}.txt"
        assert f"problem: {path}: is empty: it holds no labels; remove this video" in lines
    assert lines[-1] == "2 problems"


def test_check_shows_what_training_needs(run, dataset: Path) -> None:
    code, output, _ = run("data", "check", dataset)
    assert code == 0
    rows = dict(row for row in _cells(output) if len(row) == 2)
    assert rows["splits"] == "1, 2, 3, 4 (train 4 to 5, test 1 to 2 videos)"
    assert rows["timestamps"].endswith("in 6 videos (timestamps.json)")
    assert (rows["background"], rows["frames a second"]) == ("background", "15")
    assert (rows["sampling rate"], rows["feature axis"]) == ("1", "features-first")
    assert re.fullmatch(
        r"\d+, deviations from [\d.]+ to [\d.]+; scaled in training", rows["channels"]
    )
    assert "Classes" not in output
    _, output, _ = run("data", "check", dataset, "--classes")
    classes = [row for row in _cells(output) if len(row) == 5]
    assert [row[0] for row in classes] == list(Dataset.open(dataset).vocabulary.names)
    assert sum(float(row[3]) for row in classes) == pytest.approx(100, abs=0.2)


def _cells(output: str) -> list[list[str]]:
    lines = [line for line in output.splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


def test_one_mistake_is_one_problem(run, dataset: Path) -> None:
    names = Dataset.open(dataset).names
    for name in names:
        (dataset / "features" / f"{name}.npy").write_bytes(b"")
    code, output, _ = run("data", "check", dataset)
    assert code == 2
    assert output.splitlines()[-1] == "1 problem"
    assert output.splitlines()[-2].endswith("(and 5 more like it)")
    _, output, _ = run("data", "check", dataset, "--json")
    assert len(json.loads(output)["problems"]) == 6


def test_check_as_json(run, dataset: Path) -> None:
    code, output, _ = run("data", "check", dataset, "--json")
    assert code == 0
    report = json.loads(output)
    assert report["problems"] == []
    assert report["statistics"]["n_videos"] == 6
    (dataset / "dataset.toml").write_text("fps = 3")
    code, output, _ = run("data", "check", dataset, "--json")
    assert code == 2
    assert len(json.loads(output)["problems"]) == 1


def test_check_of_nothing(run, tmp_path: Path) -> None:
    code, output, _ = run("data", "check", tmp_path / "none")
    assert code == 2
    assert output.splitlines() == [
        f"problem: {tmp_path / 'none'}: does not exist; give the folder of a dataset",
        "1 problem",
    ]


def test_split_takes_the_grouping_of_the_dataset(run, dataset: Path) -> None:
    code, _, notes = run("data", "split", dataset, "--folds", 3)
    assert code == 2
    assert notes.strip() == (
        f"error: {dataset / 'splits'}: already has splits; pass --overwrite to replace them"
    )
    code, table, _ = run("data", "split", dataset, "--folds", 3, "--overwrite")
    assert code == 0
    assert "train" in table
    splits = Dataset.open(dataset).splits
    assert list(splits) == [1, 2, 3]
    for split in splits.values():
        assert not {name[:3] for name in split.train} & {name[:3] for name in split.test}


def test_split_with_an_expression(run, dataset: Path) -> None:
    expression = r"_(task\d)_"
    code, _, notes = run(
        "data", "split", dataset, "--folds", 2, "--group-by", expression, "--overwrite"
    )
    assert code == 0, notes
    for split in Dataset.open(dataset).splits.values():
        sides = [{name.split("_")[1] for name in side} for side in (split.train, split.test)]
        assert not sides[0] & sides[1]
    code, _, notes = run("data", "split", dataset, "--group-by", "(", "--overwrite")
    assert code == 2
    assert notes.strip() == (
        "error: group_by is '(', not a regular expression with one group, "
        r"as in '^(P\d+)_'; correct group_by"
    )


def test_generate_into_a_full_folder(run, dataset: Path) -> None:
    code, _, notes = run("data", "generate", dataset)
    assert code == 2
    assert notes.strip() == f"error: {dataset}: exists already; choose a new or empty folder"


@pytest.mark.parametrize("command", ["check", "split", "generate"])
def test_every_help_has_an_example(run, command: str) -> None:
    code, output, _ = run("data", command, "--help")
    assert code == 0
    assert f"\n  uvast data {command} " in output


def test_help_of_data(run) -> None:
    code, output, _ = run("data", "--help")
    assert code == 0
    for word in ("check", "split", "generate", "groundTruth", "For example"):
        assert word in output
