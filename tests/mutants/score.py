"""How many drawn faults are found, and named by the right rule on the right line: ``python -m tests.mutants.score junos 500 1``."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.analysis.checks.devices import compare_device
from railweave.systems import system
from tests.mutants import EXAMPLES, NAMED_BY, Mutant, configs_of, designed_files, mutants, network_of

if TYPE_CHECKING:
    from railweave.model.findings import Finding


@dataclass(frozen=True)
class Score:
    """Shares of the faults, percent, and what went wrong with the others."""

    number: int
    found: float
    named: float
    wrong: tuple[str, ...]


def score(nos: str, seed: int, number: int) -> Score:
    """Draw faults and check each. A fault in a file that is read for people alone (AVD's JSON) is not drawn against the reader."""
    of_network = {id(network_of(name, nos)): name for plain in EXAMPLES for name in (plain, f"+{plain}")}
    total = found = named = 0
    wrong: list[str] = []
    for mutant in mutants(nos, seed, number):
        findings = _findings(mutant, of_network[id(mutant.network)])
        if findings is None:
            continue
        total += 1
        found += bool(findings)
        right = any(
            finding.id in NAMED_BY[mutant.kind]
            and (device, finding.file) == (there, file)
            and abs(finding.line - line) <= 1
            for device, finding in findings
            for there, file, line in mutant.places
        )
        named += right
        if not right:
            ids = ", ".join(sorted({f"{one.id} at {one.file}:{one.line}" for _, one in findings})) or "nothing"
            wrong.append(f"{mutant.kind}: {mutant.what}: {ids}")
    return Score(total, 100 * found / total, 100 * named / total, tuple(wrong))


def _findings(mutant: Mutant, name: str) -> list[tuple[str, Finding]] | None:
    """What is found, by device; None where no edited file is part of a device's configuration."""
    findings: list[tuple[str, Finding]] = []
    read = False
    for device in {device for device, _ in mutant.edits}:
        config = configs_of(name, mutant.nos)[device]
        texts = designed_files(name, mutant.nos)[device]
        own = {file: texts[file] for file in system(mutant.nos).configurations(config)}
        changed = {file: (file, text) for (of, file), text in mutant.edits.items() if of == device and file in own}
        read = read or bool(changed)
        if changed:
            findings += [(device, one) for one in compare_device(config, own, changed).findings]
    return findings if read else None


if __name__ == "__main__":
    result = score(sys.argv[1], int(sys.argv[3]) if len(sys.argv) > 3 else 1, int(sys.argv[2]))
    print(
        f"{sys.argv[1]}: {result.number} faults, {result.found:.1f} % found, {result.named:.1f} % by the right id and line"
    )
    print("\n".join(result.wrong))
