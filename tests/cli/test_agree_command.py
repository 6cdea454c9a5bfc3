"""`uvast agree` as a user meets it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from uvast.cli.main import app
from uvast.errors import OutputError

PAIRED = "v.mp4 is compared with bo: each side has one video"


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    first, second = tmp_path / "ann.csv", tmp_path / "bo.txt"
    first.write_text("video,start,end,label\nv.mp4,0,2,cut\nv.mp4,2,4,stir\n", encoding="utf-8")
    second.write_text("0.0\t2.5\tcut\n2.5\t4.0\tstir\n", encoding="utf-8")
    return first, second


def run(*arguments: object):
    result = CliRunner().invoke(app, ["agree", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def rows(output: str) -> list[list[str]]:
    lines = (line for line in output.splitlines() if line.startswith("│"))
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


def test_tables_for_a_person(sides):
    result = run(*sides, "--fps", "10")
    assert rows(result.stdout) == [
        ["v.mp4", "40", "0.750", "100.0", "100.0", "100.0", "100.0", "87.5"],
        ["starts", "1", "0.500", "0.500", "0.500"],
        ["ends", "1", "0.500", "0.500", "0.500"],
        ["background", "0", "0", "0"],
        ["cut", "0", "20", "0"],
        ["stir", "0", "5", "15"],
    ]
    assert "2 of 2 and 2 segments match" in result.stdout
    assert result.stderr == f"note: {PAIRED}\n"


def test_json_for_a_script(sides):
    values = json.loads(run(*sides, "--json").stdout)
    assert values["kappa"] == pytest.approx(0.74)
    assert values["f1@50"] == 100
    assert values["labels"] == ["background", "cut", "stir"]
    assert values["starts"]["mean_shift_seconds"] == pytest.approx(0.5, abs=0.05)
    assert list(values["videos"]) == ["v.mp4"]
    assert values["notes"] == [PAIRED, "v.mp4: compared at 25 frames a second"]


def test_a_mapping_brings_two_vocabularies_together(sides, tmp_path):
    mapping = tmp_path / "m.csv"
    mapping.write_text("stir,cut\n", encoding="utf-8")
    values = json.loads(run(*sides, "--mapping", mapping, "--json").stdout)
    assert values["acc"] == 100


def test_agreeing_never_imports_torch(sides):
    code = (
        "import sys; from uvast.cli.main import main\n"
        f"sys.argv = ['uvast', 'agree', *{list(map(str, sides))!r}, '--fps', '10']\n"
        "try:\n    main()\n"
        "finally:\n    print('torch' in sys.modules, file=sys.stderr)"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert finished.returncode == 0
    assert finished.stderr.splitlines() == [f"note: {PAIRED}", "False"]


def drawn(page: Path) -> tuple[str, dict]:
    """The page, and what its script draws."""
    text = page.read_text("utf-8")
    match = re.search(r'<script id="data" type="application/json">(.*?)</script>', text)
    assert match is not None
    return text, json.loads(match[1])


def test_the_report_has_both_timelines_and_where_they_differ(sides, tmp_path):
    page = tmp_path / "agreement.html"
    run(*sides, "--fps", "10", "--report", page)
    text, found = drawn(page)
    names = [one["name"] for one in found["classes"]]
    assert names == ["background", "cut", "stir", "(unlabelled)", "(same)", "(different)"]
    comparison = found["comparison"]
    assert [one["name"] for one in comparison["decodings"]][2] == "differences"
    assert comparison["videos"][0]["tracks"] == [
        [1, 20, 2, 20], [1, 25, 2, 15], [4, 20, 5, 5, 4, 15],
    ]  # fmt: skip
    assert found["fps"] == 10
    assert "2 of 2 and 2 segments match" in text
    assert ">Annotator <select" in text
    with pytest.raises(OutputError, match=r"agreement.html: exists already"):
        run(*sides, "--report", page)


def test_what_nobody_labelled_is_shown_as_such(tmp_path):
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("video,start,end,label\nv,0,1,cut\nv,2,3,cut\n", encoding="utf-8")
    second.write_text("video,start,end,label\nv,0,3,cut\n", encoding="utf-8")
    page = tmp_path / "agreement.html"
    run(first, second, "--fps", "10", "--gaps", "unknown", "--report", page)
    _, found = drawn(page)
    tracks = found["comparison"]["videos"][0]["tracks"]
    assert tracks == [[1, 10, 2, 10, 1, 10], [1, 30], [3, 10, 2, 10, 3, 10]]


def test_a_project_is_a_side(tmp_path, sides):
    from uvast.exchange import Event, VideoAnnotations
    from uvast.projects import Project, ProjectVideo
    from uvast.projects.videos import write_videos

    write_videos(tmp_path / "p", [ProjectVideo("v", tmp_path / "v.mp4", 1, "x")])
    project = Project.open(tmp_path / "p")
    events = (Event("cut", 0.0, 2.0), Event("stir", 2.0, 4.0))
    project.write_annotations(VideoAnnotations("v", events))
    values = json.loads(run(project.path, sides[1], "--fps", "10", "--json").stdout)
    assert values["kappa"] == pytest.approx(0.75)
    assert values["labels"] == ["background", "cut", "stir"]
    (project.path / "dataset.toml").write_text('background = ["stir"]\n')
    for pair in ((project.path, sides[1]), (sides[1], project.path / "annotations")):
        values = json.loads(run(*pair, "--fps", "10", "--json").stdout)
        assert values["labels"] == ["stir", "cut"]
        assert values["segments"] == {"first": 1, "second": 1, "matched": 1}
    chosen = run(*pair, "--fps", "10", "--json", "--background", "nothing")
    assert json.loads(chosen.stdout)["labels"] == ["nothing", "cut", "stir"]


def test_a_project_is_compared_at_the_rate_and_up_to_the_end_of_its_videos(tmp_path):
    from uvast.exchange import Event, VideoAnnotations
    from uvast.projects import Project, ProjectVideo
    from uvast.projects.videos import write_videos

    video = ProjectVideo("v", tmp_path / "v.mp4", 1, "x", seconds=5.0, frames_per_second=30.0)
    write_videos(tmp_path / "p", [video])
    project = Project.open(tmp_path / "p")
    project.write_annotations(VideoAnnotations("v", (Event("cut", 0.0, 1.0),)))
    (tmp_path / "b.csv").write_text("video,start,end,label\nv.mp4,0,1,cut\n", encoding="utf-8")
    values = json.loads(run(project.path, tmp_path / "b.csv", "--json").stdout)
    assert (values["notes"], values["frames"]) == ([], 150)
