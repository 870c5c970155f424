"""The procedure of the EVPN test report's Table 9 on real counters: find a symptom, propose to change one field by a step, and simulate the change.

The table's actions change the same field in opposite directions: drops and pauses need earlier marking, while marks
without drops or pauses need later marking. So only one step is taken at a time, for the first symptom in the order
drops, PFC, ECN. Then the network is measured again.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from railweave.counting import counted
from railweave.errors import InputError, Option, Problem
from railweave.json_values import JsonObject
from railweave.live.check.counters import DROPS, ECN, INPUT_DROPS, PFC, RESOURCE, SERVER, STORM
from railweave.live.check.counting import NOT_SEEN
from railweave.live.check.identity import SILENT
from railweave.live.check.living import some
from railweave.operations.tune.by_rule import place_in_file
from railweave.operations.tune.measuring import RefusedCombination, Sample
from railweave.operations.tune.patch import amended, unified

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from railweave.live.check.check import CheckResult
    from railweave.live.check.counting import SubjectCount
    from railweave.model.findings import Finding
    from railweave.model.intent.qos import Qos
    from railweave.model.intent.scenario import Setting
    from railweave.model.network.model import Network


MOST_GPUS = 64
"""The largest number of GPUs in a rehearsal if the number of servers is not given. Packet-level simulation takes time for each GPU."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The servers of a rehearsal (a simulation of the proposed change).

    ``of`` is the number of similar servers of the fabric from which these servers were chosen. ``tenant`` is empty in a network
    without tenants.
    """

    fabric: str
    tenant: str
    servers: tuple[str, ...]
    of: int

    def to_text(self) -> str:
        """Return a phrase with the number of chosen servers and the number of similar servers."""
        whose = f" of {self.tenant}" if self.tenant else ""
        return f"the first {len(self.servers)} of {self.of} servers{whose}"


def rehearsal(network: Network, fabric: str, tenant: str | None = None, servers: int | None = None) -> Rehearsal:
    """Return the servers of a fabric for a rehearsal.

    ``servers`` is the number of servers; None means as many as ``MOST_GPUS`` allows. A collective needs servers of the
    same kind, and tenants cannot reach each other. So all servers are taken from one group of servers of one kind and tenant: the
    group of at least two servers that has the most NICs. With ``tenant``, only groups of that tenant are considered. Raises
    ``InputError`` if the tenant is unknown or there is no such group.
    """
    known = [tenant.name for tenant in network.fabric(fabric).tenants]
    if tenant is not None and tenant not in known:
        fix = f"tenants are {', '.join(known)}" if known else f"leave it out: {fabric} has no tenants"
        raise InputError([Problem(Option("--tenant"), f"there is no tenant {tenant!r}", fix)])
    groups: dict[tuple[str, str, int], list[str]] = {}
    for server in network.servers:
        of_fabric = (nic.tenant for nic in server.nics if nic.fabric == fabric)
        for whose, nics in Counter(owner for owner in of_fabric if owner or not known).items():
            if tenant in {None, whose}:
                groups.setdefault((whose, server.model, nics), []).append(server.name)
    group = max(
        groups, key=lambda candidate: (len(groups[candidate]) > 1, candidate[2] * len(groups[candidate])), default=None
    )
    if group is None or len(groups[group]) < 2:
        whose = f"tenant {tenant}" if tenant else f"fabric {fabric}"
        message = f"{whose} has no two servers that are alike, so there is no collective to rehearse the step with"
        raise InputError(
            [Problem(Option("--rehearse"), message, "--no-rehearse proposes the step without a rehearsal")]
        )
    whose, _, nics = group
    most = servers or max(2, MOST_GPUS // nics)  # as many GPUs as there are NICs, or fewer
    return Rehearsal(fabric, whose, tuple(groups[group][:most]), len(groups[group]))


STEP = 5
"""The percentage points by which a step moves a fill level or a partition (EVPN test report, Table 9: decrements of 5)."""
LEAST_LOSSY = 5
"""The smallest percentage of the buffer for lossy classes. The value is assumed."""
WORSE = 0.99
"""The fraction of the earlier speed below which a step is regarded as harmful, unless the step also reduces packet drops."""
ORDER = (DROPS, INPUT_DROPS, RESOURCE, STORM, PFC, SERVER, ECN)
_ROWS = {
    DROPS.id: "tail drops and egress queue peak buffer occupancy",
    INPUT_DROPS.id: "input drops and ingress priority group buffer occupancy",
    RESOURCE.id: "input drops and ingress priority group buffer occupancy: resource errors",
    PFC.id: "PFC pause frames",
    ECN.id: "ECN marked packets",
}
"""The row of Table 9 (EVPN test report) for each finding, by the id of its rule."""
_QUEUE, _PRIORITY = re.compile(r"\bqueue (\d+)"), re.compile(r"\bpriority (\d+)")


@dataclass(frozen=True, slots=True)
class Move(JsonObject):
    """A change of one field from the value ``have`` to the value ``wanted``. ``path`` is the field's place in the fabric file."""

    JSON = ("field", "have", "wanted")

    path: tuple[str, ...]
    have: int
    wanted: int

    @property
    def field(self) -> str:
        """The path of the field, with dots."""
        return ".".join(self.path)


@dataclass(frozen=True)
class Symptom(JsonObject):
    """A symptom that counters show.

    - ``rule``: the id of the rule that finds the symptom. ``row``: the row of Table 9; empty if the table has no row for it.
    - ``moves``: the field changes that may fix the symptom.
    - ``advice``: the action if no field change helps.
    - ``fabric``: the fabric of the first switch with the symptom.
    """

    JSON = ("rule", "row", "evidence", "moves", "advice")

    rule: str
    row: str
    evidence: tuple[str, ...]
    moves: tuple[Move, ...] = ()
    advice: str = ""
    fabric: str = ""


@dataclass(frozen=True)
class Diagnosis(JsonObject):
    """The symptoms that counters show, in the order in which to fix them, and the next step.

    - ``step``: one change of one field, for the first symptom that such a change fixes; None if there is none.
    - ``before``, ``after``: the simulator's results with the file's values and with the proposed step, by seed; empty
      without a rehearsal. ``rehearsed``: a phrase about the simulated servers.
    - ``refused``: the reason why the design refuses the step; empty if it does not.
    - ``patch``, ``amended``: the patch and the patched file; empty if nothing is proposed.
    - ``subjects``: the numbers of expected and reported counters, by kind and device.
    - ``unseen``: sentences about required counters that no device reported, and about devices that did not answer.
    """

    JSON = (
        "good",
        "subjects",
        "unseen",
        "symptoms",
        "step",
        "rehearsed",
        "before",
        "after",
        "refused",
        "recommended",
        "patch",
    )

    fabric: Path
    symptoms: tuple[Symptom, ...]
    step: Symptom | None
    rehearsed: str = ""
    before: tuple[Sample, ...] = ()
    after: tuple[Sample, ...] = ()
    refused: str = ""
    patch: str = ""
    amended: str = ""
    subjects: tuple[SubjectCount, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """True if there is no symptom, every required counter was reported, and every device answered."""
        return not self.symptoms and not self.unseen

    @property
    def seen(self) -> str:
        """A phrase with the number of counters that were compared."""
        expected = sum(row.expected for row in self.subjects)
        missing = sum(row.not_seen for row in self.subjects)
        return f"{expected - missing:,} of {counted(expected, 'counter')} seen"

    @property
    def worse(self) -> bool:
        """True if the simulator shows that the step makes the network worse."""
        pairs = list(zip(self.before, self.after, strict=True))
        slower = bool(pairs) and all(now.speed < WORSE * was.speed for was, now in pairs)
        return slower and sum(sample.drops or 0 for sample in self.after) >= sum(
            sample.drops or 0 for sample in self.before
        )

    @property
    def recommended(self) -> bool:
        """True if there is a patch, and the simulator does not show that it makes the network worse."""
        return bool(self.patch) and not self.worse

    def to_text(self) -> str:
        """Return the diagnosis as text: the symptoms with their evidence, the step, and the results of its simulation."""
        lines: list[str] = []
        for symptom in self.symptoms:
            row = f" (EVPN test report, Table 9: {symptom.row})" if symptom.row else ""
            lines += [f"{symptom.rule}{row}", *(f"    {each}" for each in symptom.evidence)]
            lines += [f"    -> {symptom.advice}"] if symptom.advice else []
        lines += [f"not seen: {sentence}" for sentence in self.unseen]
        if not self.symptoms and self.unseen:
            return "\n".join([*lines, f"no symptom in what was seen: {self.seen}"])
        if not self.symptoms:
            return f"no symptom: no counter of the lossless classes rose ({self.seen})"
        if self.step is None:
            return "\n".join([*lines, "no value of the fabric file is to be changed"])
        moves = ", ".join(f"{'.'.join(move.path)} from {move.have} to {move.wanted}" for move in self.step.moves)
        lines.append(f"next step, for {self.step.rule}: {moves}")
        if self.refused:
            return "\n".join([*lines, f"the design refuses it: {self.refused}"])
        if self.before:
            lines += [f"rehearsed in the simulator, {self.rehearsed}:"]
            lines += [f"    {name}: {_said(runs)}" for name, runs in (("now", self.before), ("then", self.after))]
            lines.append(
                "the simulator says that it is worse: it is not recommended"
                if self.worse
                else "the simulator says nothing against it"
            )
        return "\n".join(lines)


def _said(runs: Sequence[Sample]) -> str:
    def total(of: Literal["drops", "pauses", "marks"]) -> int:
        return sum(getattr(run, of) or 0 for run in runs)

    speed = sum(run.speed for run in runs) / len(runs)
    return f"{speed:.2f} GB/s, {total('drops'):,} packets dropped, {total('pauses'):,} pauses, {total('marks'):,} marks"


def symptoms(network: Network, document: Any, findings: Sequence[Finding], *, slow_jobs: bool) -> list[Symptom]:  # noqa: ANN401 - plain YAML
    """Return the symptoms that counter findings show, in the order in which to fix them.

    ``slow_jobs`` is True if jobs are slow. Only in this case are ECN marks a symptom.
    """
    observed: list[Symptom] = []
    for rule in ORDER:
        mine = [finding for finding in findings if finding.id == rule.id]
        if not mine or (rule is ECN and not slow_jobs):
            continue
        evidence = tuple(f"{finding.where.partition(' ')[0]} {finding.what}" for finding in mine)
        moves = _moves(network, document, rule.id, mine)
        advice = "" if moves else f"{rule.fix[0].upper()}{rule.fix[1:]}."
        fabric = network.switch(mine[0].where.partition(" ")[0]).fabric
        observed.append(Symptom(rule.id, _ROWS.get(rule.id, ""), evidence, moves, advice, fabric))
    return observed


def _moves(network: Network, document: Any, rule: str, findings: Sequence[Finding]) -> tuple[Move, ...]:  # noqa: ANN401 - plain YAML
    moves: dict[tuple[str, ...], Move] = {}
    for finding in findings:
        switch = network.switch(finding.where.partition(" ")[0])
        qos = network.fabric(switch.fabric).intent(switch).qos
        for path, have, wanted in _next(rule, qos, finding.what):
            full = place_in_file(document, switch.fabric, switch.role, path)
            moves.setdefault(full, Move(full, have, wanted))
    return tuple(moves.values())


def _next(rule: str, qos: Qos, description: str) -> list[tuple[tuple[str, ...], int, int]]:
    """Return (path in the fabric file, present value, next value) for each field change that may fix a symptom; often empty.

    ``rule`` is the id of the symptom's rule, ``qos`` the present settings, and ``description`` the text of the finding.
    """
    buffers = qos.buffers
    if rule == RESOURCE.id:
        wanted = min(STEP, buffers.lossless - STEP)
        return [(("qos", "buffers", "headroom"), buffers.headroom, buffers.headroom + wanted),
                (("qos", "buffers", "lossless"), buffers.lossless, buffers.lossless - wanted)] if wanted > 0 else []  # fmt: skip
    if rule == INPUT_DROPS.id and buffers.lossy - STEP >= LEAST_LOSSY:
        return [(("qos", "buffers", "lossless"), buffers.lossless, buffers.lossless + STEP),
                (("qos", "buffers", "lossy"), buffers.lossy, buffers.lossy - STEP)]  # fmt: skip
    if rule not in {DROPS.id, INPUT_DROPS.id, PFC.id, ECN.id}:
        return []
    queue, priority = _QUEUE.search(description), _PRIORITY.search(description)
    moves: list[tuple[tuple[str, ...], int, int]] = []
    for name, traffic_class in qos.classes.items():
        named = (queue is not None and traffic_class.queue == int(queue[1])) or (
            queue is None and priority is not None and traffic_class.pfc_priority == int(priority[1])
        )
        if not named or traffic_class.ecn is None:
            continue
        have = traffic_class.ecn.min_fill
        wanted = min(have + STEP, traffic_class.ecn.max_fill - 1) if rule == ECN.id else max(have - STEP, 1)
        if wanted != have:
            moves.append((("qos", "classes", name, "ecn", "min_fill"), have, wanted))
    return moves


def not_seen(result: CheckResult) -> tuple[str, ...]:
    """Return sentences about required counters that devices did not report in a check's ``result``, and about devices that did not answer.

    Counters that the check did not require are left out. If there are no counters at all, a sentence states this.
    """
    sentences = [f"{finding.where}: {finding.what}" for finding in result.findings if finding.id == NOT_SEEN.id]
    silent = [finding.where for finding in result.findings if finding.id == SILENT.id and finding.severity == "error"]
    if silent:
        sentences.append(f"{some(silent)} did not answer")
    if not sum(row.expected for row in result.counts if row.subject.startswith(COUNTED)):
        sentences.append("no counter of a lossless class: these systems or captures show none")
    return tuple(sentences)


COUNTED = "counters-"
"""The beginning of the names of those subjects (kinds of state that a check compares) that are counters."""


def step_of(observed: Sequence[Symptom]) -> Symptom | None:
    """Return the first of the ``observed`` symptoms that a field change fixes, or None."""
    return next((symptom for symptom in observed if symptom.moves), None)


def diagnosed(
    fabric: Path,
    text: str,
    observed: Sequence[Symptom],
    rehearse: Callable[[dict[tuple[str, ...], Setting]], list[Sample] | RefusedCombination] | None,
    rehearsed: str,
) -> Diagnosis:
    """Return the diagnosis with its next step. Raises ``InputError`` if the fabric file cannot be patched.

    - ``text``: the text of the fabric file. ``observed``: the symptoms.
    - ``rehearse``: a function that simulates the network with some values changed, or None for no simulation.
    - ``rehearsed``: a phrase about the servers of the simulation.
    """
    step = step_of(observed)
    if step is None:
        return Diagnosis(fabric, tuple(observed), None)
    values: dict[tuple[str, ...], Setting] = {move.path: move.wanted for move in step.moves}
    new = amended(text, str(fabric), values)
    patch = unified(text, new, str(fabric))
    if rehearse is None:
        return Diagnosis(fabric, tuple(observed), step, patch=patch, amended=new)
    before, after = rehearse({}), rehearse(values)
    for outcome in (before, after):
        if isinstance(outcome, RefusedCombination):
            return Diagnosis(fabric, tuple(observed), step, rehearsed, refused=outcome.why)
    assert not isinstance(before, RefusedCombination)  # noqa: S101 - just looked at
    assert not isinstance(after, RefusedCombination)  # noqa: S101
    return Diagnosis(fabric, tuple(observed), step, rehearsed, tuple(before), tuple(after), "", patch, new)
