"""The finding ``no-login`` on a system whose configuration cannot contain users: users in the file do not remove it."""

from __future__ import annotations

from pathlib import Path

import pytest

import railweave

EXAMPLE = Path(__file__).parents[3] / "examples" / "sonic-mi355x.yaml"
LOGINS = """  root_password: secret:root-hash
  users: {netops: {role: super-user, password: "secret:netops-hash"}}
"""


@pytest.mark.parametrize("users", [True, False])
def test_sonic_keeps_the_account_of_its_image(tmp_path: Path, *, users: bool) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    assert LOGINS in text
    file = tmp_path / "fabric.yaml"
    file.write_text(text if users else text.replace(LOGINS, ""), encoding="utf-8")
    report = railweave.verify(file, design_only=True)
    (finding,) = [each for each in report.findings if each.id == "no-login"]
    assert finding.severity == "warning"
    assert "4 switches" in finding.what
    assert "passwd admin" in finding.fix
    assert "management: {" not in finding.fix
