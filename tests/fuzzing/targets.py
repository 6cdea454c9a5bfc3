"""Every file that uvast reads, and the public commands and calls that read it."""

from __future__ import annotations

from dataclasses import dataclass

from .ground import LONG_NAME, VIDEO


@dataclass(frozen=True)
class Target:
    """A file, and who reads it.

    Args:
        file: the path of the file below a case's folder.
        kind: the kind of file, as in `mutations.BREAKS`.
        words: the words behind `uvast`; or `call`, a call of the Python API and its arguments.
        writes: what may be new or changed afterwards, beside `out`.
    """

    file: str
    kind: str
    words: str
    writes: tuple[str, ...] = ()

    @property
    def codes(self) -> tuple[int, ...]:
        """The exit codes it may end with; 1 is that of commands which go on where a part fails."""
        return (0, 1, 2) if self.words.startswith(("segment", "benchmark")) else (0, 2)

    @property
    def name(self) -> str:
        """For reports: `data/mapping.txt <- evaluate`."""
        words = self.words.split()
        n_words = 2 if words[0] in ("data", "call") else 1
        return f"{self.file} <- {' '.join(words[:n_words])}"


LITTLE = "--config settings.toml --set train.epochs=1 --stage 1"
TRAIN = f"train data --split 1 {LITTLE} --out out"
CLICKS = "--supervision timestamps --timestamps"
SEGMENT = "segment run data --split 1 --out out --format txt,csv,json"
REPORT = "report run --out out/page.html"
EVALUATE = "evaluate predictions data --split 1 --per-class --per-video"
BENCHMARK = "benchmark data --models frames.toml --splits 1 --durations frames --out bench"
SWEEP = "sweep data --preset frames.toml --set-range model.width=8,16 --trials 1 --out sweep"
RESUME = "train --resume run"
GO_ON = "train --resume begun --stage 2"
CELL = "bench/data/frames-full/split1-seed0"
TRIAL = "sweep/data/trial0000-full/split1-seed0"


def _data() -> list[Target]:
    found: list[Target] = []

    def add(file: str, kind: str, *commands: str) -> None:
        found.extend(Target(file, kind, words) for words in commands)

    check, check_json = "data check data --classes", "data check data --json"
    add("data/dataset.toml", "dataset.toml", check, check_json, TRAIN, SEGMENT, "call dataset data")
    add("data/mapping.txt", "lines", check, EVALUATE, TRAIN, "call dataset data")
    add("data/splits/test.split1.bundle", "lines", check, EVALUATE, SEGMENT, "call dataset data")
    add("data/splits/train.split1.bundle", "lines", check, TRAIN)
    add(f"data/groundTruth/{VIDEO}.txt", "lines", check, EVALUATE, "call dataset data")
    add(f"data/groundTruth/{LONG_NAME}.txt", "lines", check_json, TRAIN)
    add(f"data/features/{VIDEO}.npy", "npy", check, SEGMENT, "call dataset data")
    add(f"data/features/{VIDEO}.npy", "npy", "segment run data/features --out out")
    add(f"data/features/{LONG_NAME}.npy", "npy", check_json, TRAIN)
    add(f"data/features/{VIDEO}.json", "json", SEGMENT, "segment run data/features --out out")
    add("data/timestamps.json", "json", check, f"{TRAIN} --supervision timestamps")
    add("data/timestamps.json", "json", "pseudo-label data --out out", "call timestamps data")
    add("data/labelled.json", "json", check, check_json, TRAIN, EVALUATE, "call dataset data")
    add("data/labelled.json", "json", "pseudo-label data --out out", "call timestamps data")
    for file, kind in (("clicks.csv", "csv"), ("clicks.npy", "pickle")):
        add(file, kind, f"pseudo-label data --timestamps {file} --out out")
        add(file, kind, f"call timestamps data {file}", f"{TRAIN} {CLICKS} {file}")
    split = "data split data --folds 2 --overwrite"
    found.append(Target("data/dataset.toml", "dataset.toml", split, ("data/splits",)))
    return found


def _config() -> list[Target]:
    return [
        Target("settings.toml", "toml", "config --config settings.toml"),
        Target("settings.toml", "toml", "config --preset settings.toml"),
        Target("settings.toml", "toml", TRAIN),
        Target("settings.toml", "toml", "call config settings.toml"),
        Target("frames.toml", "toml", BENCHMARK, ("bench",)),
    ]


def _run() -> list[Target]:
    files = (("run.json", "json"), ("config.toml", "toml"), ("log.csv", "csv"))
    found = [Target(f"run/{name}", kind, REPORT) for name, kind in files]
    for words in (RESUME, GO_ON, "call resume begun"):
        folder = "run" if words == RESUME else "begun"
        found += [Target(f"{folder}/{name}", kind, words, (folder,)) for name, kind in files]
    found.append(Target("folded/folds/weights.json", "json", "train --resume folded", ("folded",)))
    found.append(Target("together/run.json", "json", "train --resume together", ("together",)))
    found.append(Target("together/run.json", "json", "ensemble together run --out out/again"))
    return found


def _checkpoint() -> list[Target]:
    best, kind = "run/best.safetensors", "safetensors"
    found = [
        Target(best, kind, words)
        for words in (
            SEGMENT,
            f"{SEGMENT} --transcript best --json",
            REPORT,
            "pseudo-label data --features encoder --model run --out out",
            "call segment run data",
        )
    ]
    return [
        *found,
        Target("run/last.safetensors", kind, RESUME, ("run",)),
        Target("run/last.safetensors", kind, "call load run/last.safetensors"),
        Target("begun/last.safetensors", kind, GO_ON, ("begun",)),
        Target("together/best.safetensors", kind, "segment together data --split 1 --out out"),
        Target(best, kind, "ensemble run begun --out out/again"),
    ]


def _predictions() -> list[Target]:
    words = (
        EVALUATE,
        "evaluate predictions data --split 1 --json --confusion out/confusion.csv",
        "report predictions --dataset data --split 1 --out out/page.html",
        "call evaluate predictions data",
    )
    again = "segment run data --split 1 --out predictions --format txt,csv,json"
    manifest = "predictions/segmentation.json"
    return [
        *(Target(f"predictions/{VIDEO}.txt", "lines", one) for one in words),
        Target(f"predictions/{VIDEO}.json", "json", "report predictions --out out/page.html"),
        Target(f"predictions/{VIDEO}.csv", "csv", "report predictions --out out/page.html"),
        Target(manifest, "json", EVALUATE),
        Target(manifest, "json", again, ("predictions",)),
    ]


def _benchmark() -> list[Target]:
    found = [
        Target(f"{CELL}/{name}", kind, BENCHMARK, ("bench",))
        for name, kind in (
            ("scores.json", "json"),
            ("run.json", "json"),
            ("config.toml", "toml"),
            ("best.safetensors", "safetensors"),
        )
    ]
    found.append(Target("bench/results.json", "json", "report bench --out out/page.html"))
    found += [
        Target(file, kind, SWEEP, ("sweep",))
        for file, kind in (
            ("sweep/study.log", "json lines"),
            (f"{TRIAL}/log.csv", "csv"),
            (f"{TRIAL}/run.json", "json"),
        )
    ]
    return found


_APP = (
    ("project/app/journal.jsonl", "json lines"),
    ("project/app/state.json", "json"),
    (f"project/app/documents/{VIDEO}.json", "json"),
    ("project/app/jobs/1/job.json", "json"),
    ("project/app/jobs/1/progress.json", "json"),
    ("project/app/rounds/1.json", "json"),
    (f"project/annotations/{VIDEO}.json", "json"),
    (f"project/predictions/{VIDEO}.json", "json"),
)
"""What the browser app reads."""


def _project() -> list[Target]:
    check, train = "data check project", f"train project {LITTLE}"
    segment = "segment project project --out out"
    rows = (
        ("project/videos.json", "json", (check, "init project", segment)),
        (f"project/annotations/{VIDEO}.json", "json", (check, train)),
        (f"project/features/{VIDEO}.json", "json", (check, train)),
        ("project/derived.json", "json", (check,)),
        ("project/dataset.toml", "dataset.toml", (check,)),
        ("project/imports/1/import.json", "json", ("import project --undo",)),
        (f"project/imports/1/before/{VIDEO}.json", "json", ("import project --undo",)),
        ("labels.csv", "csv", ("import project labels.csv --replace",)),
        (f"predictions/{VIDEO}.json", "json", ("import project predictions --replace",)),
        ("data/timestamps.json", "json", ("import project data/timestamps.json --replace",)),
        ("project/runs/1/last.safetensors", "safetensors", (segment,)),
        *((file, kind, ("call app project",)) for file, kind in _APP),
    )
    return [Target(file, kind, one, ("project",)) for file, kind, words in rows for one in words]


TARGETS: tuple[Target, ...] = (
    *_data(),
    *_config(),
    *_run(),
    *_checkpoint(),
    *_predictions(),
    *_benchmark(),
    *_project(),
)
