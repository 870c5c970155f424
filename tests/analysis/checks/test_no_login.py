"""Configurations that Junos would not commit, or that nobody could log in to, are said so."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import EXAMPLES

from railweave.analysis.checks.consistency import no_login
from railweave.analysis.checks.subject import Subject
from railweave.design import design
from railweave.model.findings import Finding
from railweave.model.intent.reading.source import read_source

SIZED = """
name: small
fabrics: {backend: {topology: {stripes: 1, spines: 2}, leaf: {device: qfx5240-64od}}}
servers: [{names: "gpu-[1-2]", model: h100-8gpu-cx7}]
"""


@pytest.mark.parametrize(
    ("management", "said"),
    [
        ("", ["the switches have no root password", "the switches have no user"]),
        ("management: {root_password: secret:root-hash}", ["the switches have no user"]),
        ("management: {users: {ops: {password: secret:ops}}}", ["the switches have no root password"]),
    ],
)
def test_what_is_missing_is_said(tmp_path: Path, management: str, said: list[str]) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(SIZED + management)
    found = list(no_login.run(Subject.of(design(read_source(file))[0])))
    assert [one.what for one in found] == said
    assert {one.severity for one in found} == {"warning"}


def test_a_whole_file_and_a_lab_of_frr_are_fine(tmp_path: Path) -> None:
    assert not list(no_login.run(Subject.of(design(read_source(EXAMPLES / "h100-rlb.yaml"))[0])))
    file = tmp_path / "small.yaml"
    frr = '{device: qfx5240-64od, nos: frr, release: "10.3"}'
    text = SIZED.replace("{device: qfx5240-64od}", f"{frr}, spine: {frr}")
    file.write_text(text)
    assert not list(no_login.run(Subject.of(design(read_source(file))[0])))


@pytest.mark.parametrize(
    ("system", "switch", "says"),
    [
        ("eos", "arista-7060x6-64pe", "EOS keeps its account admin, which has no password"),
        ("dell_sonic", "z9864f-on", "whose password is public"),
    ],
)
def test_every_system_says_it(tmp_path: Path, system: str, switch: str, says: str) -> None:
    [found], with_user = without_and_with_user(tmp_path, system, switch)
    assert found.what == "the switches have no user"
    assert says in found.why
    assert "root_password" not in found.fix  # these systems have no use for it
    assert not with_user


def test_where_configurations_cannot_have_users_it_stays(tmp_path: Path) -> None:
    for [found] in without_and_with_user(tmp_path, "sonic", "z9864f-on"):
        assert found.what == "the configurations of 10 switches (stripe1-leaf1, …) contain no logins"
        assert "whose password is public" in found.why
        assert "passwd admin" in found.fix


def without_and_with_user(tmp_path: Path, system: str, switch: str) -> tuple[list[Finding], list[Finding]]:
    role = f"{{device: {switch}, nos: {system}}}"
    text = SIZED.replace("leaf: {device: qfx5240-64od}", f"leaf: {role}, spine: {role}")
    file = tmp_path / "small.yaml"
    findings: list[list[Finding]] = []
    for more in ("", "management: {users: {ops: {password: secret:ops}}}"):
        file.write_text(text + more)
        findings.append(list(no_login.run(Subject.of(design(read_source(file))[0]))))
    return findings[0], findings[1]
