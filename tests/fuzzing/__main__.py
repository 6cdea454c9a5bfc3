"""`python -m tests.fuzzing`: search for failing cases for some minutes, or run one again."""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from .cases import Case, any_case, keep, read_case, run_case
from .sandbox import Sandbox
from .targets import TARGETS
from .verdict import Fault, faults

A_ROUND = 200
"""Cases that hypothesis draws from one seed."""


class Search:
    """Runs cases until the time is over and keeps one file for each fault."""

    def __init__(self, sandbox: Sandbox, out: Path, minutes: float, only: str) -> None:
        self._sandbox, self._out = sandbox, out
        self._cases = any_case([target for target in TARGETS if only in target.name])
        self._end = time.monotonic() + 60 * minutes
        self.n_cases = 0
        self.found: dict[str, Fault] = {}

    @property
    def is_over(self) -> bool:
        """Whether the time is used up."""
        return time.monotonic() > self._end

    def round(self, number: int) -> None:
        """Cases of one seed."""

        @seed(number)
        @settings(
            max_examples=A_ROUND,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(self._cases)
        def one(case: Case) -> None:
            if not self.is_over:
                self._examine(case)

        one()

    def _examine(self, case: Case) -> None:
        self.n_cases += 1
        for fault in faults(run_case(case, self._sandbox), case.target):
            key = str(fault) if fault.place else f"{fault} <- {case.target.name}"
            if key not in self.found:
                self.found[key] = fault
                name = hashlib.sha256(key.encode()).hexdigest()[:12]
                keep(case, self._out / f"{name}.json", self._sandbox, fault)
                print(f"{name}  {fault}\n    {case}", flush=True)


def _search(arguments: argparse.Namespace, sandbox: Sandbox) -> int:
    search = Search(sandbox, arguments.out, arguments.minutes, arguments.only)
    number = arguments.seed
    while not search.is_over:
        search.round(number)
        number += 1
    print(f"{search.n_cases} cases, {len(search.found)} faults, in {arguments.out}")
    return 1 if search.found else 0


def _replay(path: Path, sandbox: Sandbox) -> int:
    case, content = read_case(path, sandbox)
    outcome = run_case(case, sandbox, content)
    found = faults(outcome, case.target)
    print(f"{case}\ncode {outcome.code}\n{outcome.stdout}{outcome.stderr}{outcome.error or ''}")
    for fault in found:
        print(f"FAULT: {fault}\n{fault.detail}")
    return 1 if found else 0


def main() -> int:
    """Reads the options."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0, help="of the first round")
    parser.add_argument("--out", type=Path, default=Path("build/fuzzing"), help="failing cases")
    parser.add_argument("--only", default="", help="targets whose name has this in it")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="a case that was kept")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="uvast-fuzzing-") as root:
        sandbox = Sandbox(Path(root))
        try:
            if arguments.replay is not None:
                return _replay(arguments.replay, sandbox)
            return _search(arguments, sandbox)
        finally:
            sandbox.close()


if __name__ == "__main__":
    sys.exit(main())
