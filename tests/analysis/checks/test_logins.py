"""The finding ``no-login``: users in the file remove it, except on a system whose configuration cannot contain users."""

from __future__ import annotations

from pathlib import Path

import pytest

import railweave
from railweave.api.starting import init_sized
from railweave.model.catalog import catalog

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


@pytest.mark.parametrize("nos", sorted(catalog().systems))
@pytest.mark.parametrize("users", [True, False])
def test_users_take_the_warning_away_where_the_configuration_has_them(tmp_path: Path, nos: str, *, users: bool) -> None:
    """And then the rendered configuration of each switch has the user."""
    file = init_sized(tmp_path / "mine", gpus=16, nic="cx7", switch=nos).written[0]
    logins = (
        'management: {security: {}, root_password: secret:root-hash, users: {netops: {password: "secret:netops-hash"}}}'
    )
    text = file.read_text(encoding="utf-8")
    assert text.count("management: {security: {}}") == 1
    if users:
        file.write_text(text.replace("management: {security: {}}", logins), encoding="utf-8")
    built = railweave.build(file, tmp_path / "out")
    (found, *_) = [*(finding for finding in built.findings if finding.id == "no-login"), None]
    system = catalog().systems[nos]
    own = system.login is not None and "management.users" not in system.reads.unsaid
    assert (found is None) == (system.login is None or (own and users))
    if own and users:
        for switch in built.network.switches:
            folder = tmp_path / "out" / "devices" / switch.name
            assert any(
                "netops" in path.read_text(encoding="utf-8") for path in folder.iterdir() if path.name != "config.json"
            )
