"""The result of a study: as text, as JSON, as a journal, and as a patch of the fabric file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railweave.operations.tune.patch import amended, unified
from railweave.operations.tune.scoring import Aim, aims_of, over_seeds
from railweave.operations.tune.space import short_names, shown
from railweave.pages.charts import shown as digits
from railweave.pages.table import Cell, Column, Table, formatted, long_text
from railweave.prediction.collectives.program import written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Literal

    from railweave.model.intent.scenario import Setting
    from railweave.operations.tune.measuring import Sample
    from railweave.operations.tune.run import Outcome
    from railweave.operations.tune.search import Importance, Trial

MEANING = {
    "better": "the proposed values are better than the fabric file's own, on {fresh} that the search has not seen",
    "no significant difference": "no significant difference: the fabric file's own values are kept",
    "worse": "the best of the search is worse on fresh {fresh}: the fabric file's own values are kept",
    "the file's own values": "nothing that was tried is better than the fabric file's own values, which are kept",
    "breaks a limit": "the best of the search breaks a limit on fresh {fresh}: the fabric file's own values are kept",
    "nothing": "no trial kept to the limits: the fabric file's own values are kept",
}
"""The sentence for each verdict. The placeholder ``fresh`` is replaced by the kind of run: new simulator seeds, or runs on hardware."""
PATCH, PAGE = "fabric.patch", "report.html"
"""The names of two files in a study's folder: the patch of the fabric file, and the page."""
MOST_FAILED = 5
"""The largest number of failed trials that ``Result.to_text`` lists."""


@dataclass(frozen=True)
class Result:
    """The result of ``tune run``.

    - ``outcome``: the trials and their scores. ``fabric``: the path of the fabric file.
    - ``patch``: a diff of the fabric file for ``patch -p0``.
    - ``amended``: the whole text of the fabric file with the patch applied.
    - ``beside``: by name, the proposed values of simulator parameters that a fabric file does not have.
    - ``folder``: the folder with the files of the study.

    ``patch`` and ``amended`` are empty if the file's own values are kept.
    """

    outcome: Outcome
    fabric: Path
    patch: str
    amended: str
    beside: Mapping[str, Setting]
    folder: Path

    @property
    def page_file(self) -> Path:
        """The path of the result's HTML page."""
        return self.folder / PAGE

    @property
    def patch_file(self) -> Path:
        """The path of the patch of the fabric file."""
        return self.folder / PATCH

    @property
    def verdict(self) -> str:
        """The verdict, such as ``better``, or ``nothing`` if nothing was confirmed. ``MEANING`` has it as a sentence."""
        check = self.outcome.confirmed
        return "nothing" if check is None else check.verdict

    @property
    def fresh(self) -> str:
        """The kind of the runs that confirmed the best values: simulations with new seeds, or runs on hardware."""
        return "seeds" if self.outcome.study.evaluator == "sim" else "runs on hardware"

    @property
    def meaning(self) -> str:
        """The verdict as a sentence."""
        return MEANING[self.verdict].format(fresh=self.fresh)

    @property
    def parts(self) -> list[tuple[str, float, float]]:
        """The results on fresh seeds, as (collective or job, result with the file's values, result with the proposed values).

        Results are in GB/s for collectives and in ms for jobs.
        """
        check = self.outcome.confirmed
        if check is None or not check.own_samples or not check.best:
            return []
        goal = self.outcome.study.goal
        names = [f"{collective.collective} {written(collective.size)}" for collective in goal.collectives]
        names = names or [f"job {number}" for number in range(1, len(check.own_samples[0].parts) + 1)]
        more = goal.job is None

        def tail(rows: Sequence[Sample], place: int) -> float:
            return _tail(goal.tail, [row.parts[place] for row in rows], more=more)

        return [(name, tail(check.own_samples, place), tail(check.best, place)) for place, name in enumerate(names)]

    @property
    def table(self) -> Table:
        """A table with a row for each trial, in the order of the search."""
        outcome = self.outcome
        aims = aims_of(outcome.study.goal)
        short = short_names([knob.name for knob in outcome.space.knobs])
        return Table(
            (
                Column("trial", "number", "trial"),
                *(Column(short[knob.name], _kind(knob.values), knob.name) for knob in outcome.space.knobs),
                *(Column(f"{aim.title} {aim.unit}".strip(), "number", aim.objective) for aim in aims),
                Column("state", "text", "state"),
                Column("why", "text", "why"),
            ),
            [self._row(trial, len(aims)) for trial in outcome.trials],
            row_css=["best" if trial.number == outcome.best else "" for trial in outcome.trials],
        )

    def _row(self, trial: Trial, aims: int) -> tuple[object, ...]:
        score = self.outcome.scores.get(trial.number)
        results = [None] * aims if score is None else [Cell(value, digits(value)) for value in score.values]
        why = trial.why or ", ".join(breach for breach, _ in (() if score is None else score.broken))
        return (
            trial.number,
            *(_setting(value) for value in self.outcome.values(trial.number).values()),
            *results,
            Cell(trial.state, "given up early" if trial.state == "pruned" else trial.state),
            long_text(why),
        )

    @property
    def knobs_table(self) -> Table:
        """A table with a row for each knob (a field that the study varies): the file's own value, and the proposed value."""
        outcome, check = self.outcome, self.outcome.confirmed
        short = short_names([knob.name for knob in outcome.space.knobs])
        rows: list[tuple[object, ...]] = []
        changed: list[bool] = []
        for knob, own_value in zip(outcome.space.knobs, outcome.space.own_values, strict=True):
            proposed = None if check is None else check.values.get(knob.name, own_value)
            needless = " (makes no difference)" if check is not None and knob.name in check.needless else ""
            share = outcome.importance.get(knob.name)
            rows.append(
                (
                    Cell(knob.name, short[knob.name]),
                    _setting(own_value),
                    None if proposed is None else Cell(proposed, f"{proposed}{needless}"),
                    None if share is None else Cell(share.share, share.to_text()),
                    long_text(knob.name),
                )
            )
            changed.append(bool(self.patch) and proposed != own_value)
        return Table(
            (
                Column("knob", "text", "name"),
                Column("now", "text", "now"),
                Column("proposed", "text", "proposed"),
                Column("share of the difference", "number", "importance"),
                Column("field", "text", "field"),
            ),
            rows,
            row_css=["best" if new else "" for new in changed],
        )

    @property
    def parts_table(self) -> Table:
        """A table with a row for each collective or job: the result with the file's own values, and the result with the proposed values."""
        job = self.outcome.study.goal.job is not None
        unit = "ms" if job else "GB/s"
        return Table(
            (
                Column("job" if job else "collective", "text", "name"),
                Column(f"now {unit}", "number", "before"),
                Column(f"proposed {unit}", "number", "after"),
                Column("change", "number", "change"),
            ),
            [
                (
                    name,
                    formatted(before, ",.2f"),
                    formatted(after, ",.2f"),
                    formatted(after / before - 1 if before else None, "+.1%"),
                )
                for name, before, after in self.parts
            ],
        )

    def to_text(self) -> str:
        """Return the text that the command prints: the numbers of trials, the proposed values, the results, and the verdict."""
        outcome, check = self.outcome, self.outcome.confirmed
        pruned = sum(trial.state == "pruned" for trial in outcome.trials)
        refused = sum(trial.state == "refused" for trial in outcome.trials)
        failed = [trial for trial in outcome.trials if trial.state == "failed"]
        states = [f"{pruned} given up early", f"{refused} that no network can have"]
        states += [f"{len(failed)} taken back from hardware"] if failed else []
        head = f"study {outcome.study.name}: {len(outcome.trials)} trials ({', '.join(states)}), "
        lines = [f"{head}{outcome.runs} runs of {outcome.space.size:,} combinations on {outcome.study.seeds} seeds"]
        lines += [
            f"  trial {trial.number} ({self._words(outcome.values(trial.number))}): {trial.why}"
            for trial in failed[:MOST_FAILED]
        ]
        if check is not None:
            short = short_names([knob.name for knob in outcome.space.knobs])
            lines += self.knobs_table.to_text("  ")
            without_share = [short[knob.name] for knob in outcome.space.knobs if knob.name not in outcome.importance]
            lines += [f"  the trials cannot tell the share of {', '.join(without_share)}"] if without_share else []
            for aim in aims_of(outcome.study.goal):
                lines.append("  " + self._before_and_after(aim, check.own_samples, check.best))
            if len(self.parts) > 1:
                lines += self.parts_table.to_text("    ")
            lines += self._on_hardware()
            lines += [f"  now: {breach}" for breach, _ in check.own_score.broken]
            lines += [f"  proposed: {breach}" for breach, _ in check.best_score.broken]
            if len(outcome.frontier) > 1:
                lines.append(
                    f"  frontier: {len(outcome.frontier)} trials, {', '.join(map(str, outcome.frontier[:12]))}"
                )
        lines.append(f"  {self.meaning}")
        if self.beside:
            assignments = ", ".join(f"{name}={value}" for name, value in self.beside.items())
            lines.append(f"  no fabric file has these, set them where they belong: {assignments}")
        return "\n".join(lines)

    def _words(self, values: Mapping[str, Setting]) -> str:
        """Return the values that differ from the fabric file's as text, such as ``min_fill=55, max_fill=90``."""
        own_values = {
            knob.name: value
            for knob, value in zip(self.outcome.space.knobs, self.outcome.space.own_values, strict=True)
        }
        changed = {name: value for name, value in values.items() if own_values.get(name) != value}
        return shown(changed, list(own_values)) or "the file's own values"

    def _on_hardware(self) -> list[str]:
        """Return a line for each of the simulator's best trials that was measured on hardware."""
        check = self.outcome.confirmed
        aim = aims_of(self.outcome.study.goal)[0]
        lines: list[str] = []
        for measured in check.hardware if check is not None else ():
            line = f"{aim.title} {measured.candidate.simulated.values[0]:,.2f} in the simulator, "
            line += (
                f"{measured.score.values[0]:,.2f} {aim.unit} on hardware"
                if measured.score is not None
                else measured.why
            )
            lines.append(f"  trial {measured.candidate.number} ({self._words(measured.candidate.values)}): {line}")
        return lines

    def _before_and_after(self, aim: Aim, own_samples: Sequence[Sample], best: Sequence[Sample]) -> str:
        tail = self.outcome.study.goal.tail
        if not own_samples or not best:
            why = "no network can have the values of the file" if not own_samples else "the proposed values failed"
            return f"{aim.title}: {why}"
        before, after = over_seeds(aim, tail, own_samples), over_seeds(aim, tail, best)
        unit = f" {aim.unit}" if aim.unit else ""
        change = f" ({after / before - 1:+.1%})" if before else ""
        check = self.outcome.confirmed
        sure = f", by chance {check.chance:.1%}" if check and aim == aims_of(self.outcome.study.goal)[0] else ""
        return f"{aim.title}, {tail} of {len(own_samples)} fresh {self.fresh}: {before:,.2f} -> {after:,.2f}{unit}{change}{sure}"

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that ``tune run`` prints and writes (see docs/predict.md)."""
        outcome = self.outcome
        return {
            "study": outcome.study.name,
            "fabric": str(self.fabric),
            "verdict": self.verdict,
            "evaluator": outcome.study.evaluator,
            "meaning": self.meaning,
            "objectives": [
                {"objective": aim.objective, "title": aim.title, "unit": aim.unit, "more_is_better": aim.more}
                for aim in aims_of(outcome.study.goal)
            ],
            "combinations": outcome.space.size,
            "runs": outcome.runs,
            "knobs": [
                {
                    "name": knob.name,
                    "values": list(knob.values) if len(knob.values) <= 1000 else [knob.values[0], knob.values[-1]],
                    "now": own_value,
                    **_importance_json(outcome.importance.get(knob.name)),
                }
                for knob, own_value in zip(outcome.space.knobs, outcome.space.own_values, strict=True)
            ],
            "own": {**outcome.own_score.to_json(), "samples": [sample.to_json() for sample in outcome.own_samples]},
            "best": outcome.best,
            "frontier": list(outcome.frontier),
            "confirmed": None if outcome.confirmed is None else outcome.confirmed.to_json(),
            "parts": [{"name": name, "before": before, "after": after} for name, before, after in self.parts],
            "patch": self.patch,
            "not_in_the_fabric_file": dict(self.beside),
            "trials": trials_json(outcome),
        }

    def journal(self) -> str:
        """Return the journal as JSON lines: first the study, then every trial in order, and last the result."""
        document = self.to_json()
        rows = [{"study": self.outcome.study.model_dump(mode="json", by_alias=True)}, *document.pop("trials"), document]
        return "".join(json.dumps(row) + "\n" for row in rows)


def _importance_json(importance: Importance | None) -> dict[str, Any]:
    if importance is None:
        return {"importance": None, "importance_between": None}
    return {"importance": importance.share, "importance_between": [importance.low, importance.high]}


def trials_json(outcome: Outcome) -> list[dict[str, Any]]:
    """Return the trials of a study as JSON objects, each with its values, state, samples and, if it was measured with every seed, its score."""
    return [
        {
            "trial": trial.number,
            "values": outcome.values(trial.number),
            "state": trial.state,
            "why": trial.why,
            "samples": [sample.to_json() for sample in trial.samples],
            **(outcome.scores[trial.number].to_json() if trial.number in outcome.scores else {}),
        }
        for trial in outcome.trials
    ]


def result_of(outcome: Outcome, fabric: Path, text: str, values: Mapping[str, Setting] | None, folder: Path) -> Result:
    """Return the result of a study, with a patch that writes ``values`` into the fabric file's ``text``; None means the proposed values.

    ``outcome`` has the trials, and ``folder`` is the folder of the study's files. Raises ``InputError`` if the file's text does not allow
    the changes, for example because of a YAML alias.
    """
    check = outcome.confirmed
    taken = values if values is not None else check.values if check is not None and check.verdict == "better" else None
    if taken is None:
        return Result(outcome, fabric, "", "", {}, folder)
    own_values = {knob.name: value for knob, value in zip(outcome.space.knobs, outcome.space.own_values, strict=True)}
    changed = {name: value for name, value in taken.items() if own_values.get(name) != value}
    after = amended(text, str(fabric), outcome.space.in_file(changed))
    return Result(outcome, fabric, unified(text, after, str(fabric)), after, outcome.space.in_engine(changed), folder)


def _tail(tail: str, values: Sequence[float], *, more: bool) -> float:
    from statistics import fmean, median

    if tail == "worst":
        return min(values) if more else max(values)
    return median(values) if tail == "median" else fmean(values)


def _setting(value: Setting | None) -> Cell | None:
    """Return a table cell with a value in the notation of a fabric file, without thousands separators."""
    return None if value is None else Cell(value, str(value))


def _kind(values: Sequence[Setting]) -> Literal["number", "text"]:
    return "text" if any(isinstance(value, str | bool) for value in values) else "number"
