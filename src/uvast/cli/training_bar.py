"""The progress of a training: one bar, and a few sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvast.cli.console import note

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from uvast.training import EpochReport, Part, Plan, Step

WIDE = 140
"""From this many columns on, a terminal has room for every term of the loss."""


class TrainingBar:
    """One bar over the epochs of all stages and members: the time left is that of the whole run.

    Pseudo-labels have their own bar before it. With a name, it leaves the plan and the scores to
    its caller.
    """

    def __init__(self, progress: Progress, name: str = "") -> None:
        self._progress = progress
        self._name = f"{name}, " if name else ""
        self._plans: dict[int, Plan] = {}
        self._done: dict[tuple[Part, int], float] = {}
        self._losses: dict[Part, str] = {}
        self._total = 0
        self._task: TaskID | None = None
        self._labels: TaskID | None = None

    def begin(self, plan: Plan) -> None:
        """Notes what there is to do."""
        self._end_labels()
        is_first = not self._plans
        self._plans[plan.member] = plan
        begun = [
            n for one in self._plans.values() for n in (*one.folds.values(), *one.epochs.values())
        ]
        self._total = sum(begun) + self._plans[max(self._plans)].later_epochs
        if self._task is not None:
            self._progress.update(self._task, total=self._total)
        if not self._name and is_first:
            for line in (*plan.notes, *_of_folds(plan), _sentence(plan)):
                note(line)

    def pseudo_labels(self, n_done: int, n_most: int) -> None:
        """Moves the bar of the pseudo-labels."""
        if self._labels is None:
            self._labels = self._progress.add_task(f"{self._name}pseudo-labels", total=n_most)
        self._progress.update(self._labels, completed=n_done)

    def _end_labels(self) -> None:
        """Removes the bar of the pseudo-labels, which may need fewer rounds than it shows."""
        if self._labels is not None:
            self._progress.remove_task(self._labels)
            self._labels = None

    def step(self, step: Step) -> None:
        """Moves the bar, which does not count epochs of earlier sessions."""
        self._end_labels()
        part, stage, plan = step.part, step.stage, self._plans[step.part.member]
        member = f"member {part.member} of {plan.n_members}, " if plan.n_members > 1 else ""
        here = f"inner run {part.fold} of {part.n_folds}" if part.fold else f"stage {stage}"
        text = f"{self._name}{member}{here}{self._losses.get(part, '')}"
        if self._task is None:
            self._task = self._progress.add_task(text, total=self._total)
        left = plan.folds[part.fold] if part.fold else plan.epochs[stage]
        self._done[part, stage] = left - (step.epochs - step.epoch + 1) + step.fraction
        if stage == 2 and 1 in plan.epochs:  # stage 1 may have ended early
            self._done[part, 1] = plan.epochs[1]
        done = round(sum(self._done.values()), 2)
        self._progress.update(self._task, completed=done, description=text)

    def epoch(self, report: EpochReport) -> None:
        """Shows the losses in the bar, and validation scores on a line of their own."""
        from uvast.training import Step

        losses = f": loss {report.losses['total']:.2f}"
        if self._progress.console.width >= WIDE:
            terms = [f"{n} {value:.2f}" for n, value in report.losses.items() if n != "total"]
            losses += f" ({', '.join(terms)})"
        self._losses[report.part] = losses
        if report.validation and not self._name:
            note(_scores(report))
        self.step(Step(report.stage, report.epoch, report.epochs, 1.0, report.part))


def _of_folds(plan: Plan) -> tuple[str, ...]:
    if not plan.folds:
        return ()
    runs = _number(len(plan.folds), "inner run")
    chooses = "chooses" if len(plan.folds) == 1 else "choose"
    decode = "how to decode" if plan.n_members == 1 else "how all members decode"
    return (f"first, {runs} of {max(plan.folds.values())} epochs {chooses} {decode}",)


def _scores(report: EpochReport) -> str:
    found = report.validation
    f1 = "/".join(f"{found[f'f1@{overlap}']:.1f}" for overlap in (10, 25, 50))
    return (
        f"stage {report.stage}, epoch {report.epoch}: validation Acc {found['acc']:.1f}, "
        f"Edit {found['edit']:.1f}, F1@10/25/50 {f1}"
    )


def _sentence(plan: Plan) -> str:
    if not plan.epochs:
        return "nothing is left to train: the run was finished already"
    (first, n_first), *others = plan.epochs.items()
    parts = [f"{_number(n_first, 'epoch')} of stage {first}"]
    parts += [f"{n} of stage {stage}" for stage, n in others]
    videos = _number(plan.n_videos, "video")
    if plan.n_unlabelled:
        seen = " (transductive)" if plan.transductive else ""
        videos += f" and {plan.n_unlabelled} more without their labels{seen}"
    if plan.n_validation:
        videos += f", {plan.n_validation} more held out for validation"
    what, epochs = plan.model, ", ".join(parts)
    if plan.n_members > 1:
        what, epochs = f"{plan.n_members} {what} models", f"{epochs} for each"
    return f"training {what} on {videos} ({plan.device}): {epochs}"


def _number(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
