"""`uvast convert` as a user meets it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from uvast.cli.convert import GapRule, OverlapRule
from uvast.cli.main import app
from uvast.errors import ConfigError, LabelError, MissingFileError, OutputError
from uvast.exchange import FORMATS, GAPS, OVERLAPS

TABLE = (
    "video,start,end,label,subject,modifier\n"
    "a.mp4,0,1,cut,left,fast\na.mp4,0.5,2,stir,right,\nb.mp4,1,,look,left,\n"
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "labels.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


def run(*arguments: object):
    result = CliRunner().invoke(app, ["convert", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def test_the_options_are_those_of_the_rules():
    assert tuple(one.value for one in OverlapRule) == OVERLAPS
    assert tuple(one.value for one in GapRule) == GAPS


def test_the_help_names_every_format():
    text = CliRunner().invoke(app, ["convert", "--help"]).output
    words = {word.strip(",.;:") for word in text.split()}
    assert {one.name for one in FORMATS} <= words


def test_a_table_to_elan_lists_what_is_lost(table, tmp_path):
    result = run(table, tmp_path / "out", "--to", "elan")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.eaf", "b.eaf"]
    assert result.stdout == f"wrote {tmp_path / 'out'} (2 files): 2 videos, 2 intervals, 1 point\n"
    assert result.stderr.splitlines() == [
        "note: ELAN has no place for modifiers (1)",
        "note: ELAN has no place for points, which are left out (1)",
    ]
    again = run(tmp_path / "out" / "a.eaf", tmp_path / "back.csv")
    assert again.stderr == ""
    assert (tmp_path / "back.csv").read_text("utf-8") == (
        "video,start,end,label,tier\na.mp4,0,1,cut,left\na.mp4,0.5,2,stir,right\n"
    )


def test_rules_on_the_way_say_what_they_do(table, tmp_path):
    mapping = tmp_path / "names.csv"
    mapping.write_text("cut fast,chop\n", encoding="utf-8")
    options = ["--tier", "left", "--label-from", "label+modifier", "--mapping", mapping]
    result = run(table, tmp_path / "x.csv", *options)
    assert "1 annotation left out: on other tiers" in result.stderr
    assert (tmp_path / "x.csv").read_text("utf-8").splitlines()[1:] == [
        "a.mp4,0,1,chop,left,fast", "b.mp4,1,,look,left,",
    ]  # fmt: skip


def test_frame_labels_with_and_without_a_rule_for_overlaps(table, tmp_path):
    with pytest.raises(LabelError, match=r"a.mp4: 'cut' \(0 to 1 s\) and 'stir' .* overlap"):
        run(table, tmp_path / "out", "--to", "ms-tcn", "--fps", "4")
    assert not (tmp_path / "out").exists()
    result = run(table, tmp_path / "out", "--to", "ms-tcn", "--fps", "4", "--overlaps", "first",
                 "--background", "idle")  # fmt: skip
    assert (tmp_path / "out" / "a.txt").read_text() == "cut\n" * 4 + "stir\n" * 4
    assert (tmp_path / "out" / "b.txt").read_text() == "idle\n" * 4
    assert "a.mp4: intervals overlap, the first counts" in result.stderr
    assert "its length is not known" in result.stderr
    assert "(and 1 more like it)" in result.stderr


def test_gaps_that_are_unknown(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text("start,end,label\n0.5,1,cut\n", encoding="utf-8")
    out = tmp_path / "v_labels.csv"
    run(path, out, "--to", "deepethogram", "--fps", "4", "--gaps", "unknown")
    assert out.read_text() == ",background,cut\n0,-1,-1\n1,-1,-1\n2,0,1\n3,0,1\n"
    with pytest.raises(LabelError, match=r"nobody labelled .* pass --gaps background or choose"):
        run(path, tmp_path / "v.txt", "--to", "ms-tcn", "--fps", "4", "--gaps", "unknown")


def test_a_folder_of_lines_becomes_frame_labels(tmp_path):
    """A look-alike of knot_tying/intervals and its groundTruth."""
    folder = tmp_path / "intervals"
    folder.mkdir()
    (folder / "S01.txt").write_bytes(b"3 4 G12 \r\n5 6 G13 \r\n7 7 G13 \r\n")
    (folder / "S02.txt").write_bytes(b"1 2 G1 \r\n")
    run(folder, tmp_path / "groundTruth", "--to", "ms-tcn", "--fps", "30")
    lines = (tmp_path / "groundTruth" / "S01.txt").read_text().split()
    assert lines == ["background"] * 2 + ["G12"] * 2 + ["G13"] * 3


def test_nothing_is_overwritten(table, tmp_path):
    out = tmp_path / "x.json"
    out.write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match=r"x.json: exists already; pass --overwrite"):
        run(table, out)
    assert out.read_text("utf-8") == "mine"
    run(table, out, "--overwrite")
    assert '"uvast annotations"' in out.read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "kind", "sentence"),
    [
        (["nothing.csv", "x.csv"], MissingFileError, "nothing.csv: does not exist; check the path"),
        (
            ["{}", "x.txt"],
            ConfigError,
            "several formats use the suffix .txt; say which: --to ",
        ),
        (["{}", "x.doc"], ConfigError, "x.doc: has no known suffix; say which: --to "),
        (["{}", "x"], ConfigError, "has no suffix that shows its format; name it with --to"),
        (["{}", "x.eaf"], ConfigError, "ELAN holds one video per file, but there are 2; give a f"),
        (["{}", "x", "--to", "eln"], ConfigError, "--to: no format 'eln'; did you mean elan?"),
        (["{}", "x", "--to", "cvat"], ConfigError, "--to: CVAT for video can be read but not writ"),
        (
            ["{}", "x.csv", "--from", "datavyu"],
            LabelError,
            "is not in the format Datavyu; leave --from",
        ),
        (["{}", "x.csv", "--fps", "fast"], ConfigError, "--fps: 'fast' is not a frame rate"),
    ],
)
def test_slips_are_sentences(table, tmp_path, arguments, kind, sentence, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind) as error:
        run(*(argument.format(table) for argument in arguments))
    assert sentence in str(error.value)


def test_converting_never_imports_torch(table, tmp_path):
    code = (
        "import sys; from uvast.cli.main import main\n"
        f"sys.argv = ['uvast', 'convert', {str(table)!r}, {str(tmp_path / 'x.json')!r}]\n"
        "try:\n    main()\n"
        "finally:\n    print('torch' in sys.modules, 'openpyxl' in sys.modules, file=sys.stderr)"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (finished.returncode, finished.stderr.strip()) == (0, "False False")
