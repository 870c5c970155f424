"""Validators accept what protects logins, sessions and server ports, on every system."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import pytest
from tests.access import protected
from tests.conftest import example, frr_root
from tests.retarget import retargeted

from railweave.model.device.build import device_config
from railweave.model.findings.validators import ValidatorReport
from railweave.systems import system
from railweave.systems.dell_sonic.lint import lint as lint_dell
from railweave.systems.dell_sonic.render import tree as dell_tree
from railweave.systems.eos import validator as avd
from railweave.systems.frr import validator as vtysh
from railweave.systems.junos import validator as junos_yang
from railweave.systems.junos.lint import lint as lint_junos
from railweave.systems.junos.render import tree as junos_tree
from railweave.systems.sonic import validator as sonic_yang

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
Algorithm = Literal["md5", "ao-aes-128-cmac", "ao-hmac-sha-1"]
UNKNOWN = "in no published model"


def folder(variable: str) -> Path | None:
    return Path(os.environ[variable]) if os.environ.get(variable) else None


@pytest.mark.parametrize("algorithm", ["md5", "ao-aes-128-cmac"])
@pytest.mark.parametrize("name", ["h100-rlb", "evpn-server-isolation"])
@pytest.mark.parametrize("nos", ["junos", "eos", "sonic", "dell_sonic", "frr"])
def test_all_of_it_is_accepted(nos: str, name: str, algorithm: Algorithm) -> None:
    network = example(name) if nos in {"junos", "frr"} else retargeted(name, nos)
    chosen = [one.name for one in {one.role: one for one in network.switches}.values()]
    configs = {one: protected(device_config(network, one, nos), algorithm) for one in chosen}
    files = {one: system(nos).files(config) for one, config in configs.items()}
    reports: list[ValidatorReport] = []
    if nos == "junos":
        reports.append(junos_yang.validate(files, folder("RAILWEAVE_YANG")))
        assert [found for one, config in configs.items() for found in lint_junos(one, junos_tree(config))] == []
    if nos == "eos":
        reports.append(avd.validate(files))
    if nos == "dell_sonic":
        assert [found for one, config in configs.items() for found in lint_dell(one, dell_tree(config))] == []
    if nos == "sonic":
        releases = {one: config.release for one, config in configs.items()}
        reports.append(sonic_yang.validate(files, folder("RAILWEAVE_SONIC_YANG"), releases=releases))
    if nos in {"frr", "sonic"}:
        reports.append(vtysh.validate(files, frr_root()))
    for report in reports:
        assert [one.what for one in report.findings if UNKNOWN not in one.what] == []
        assert [one for one in report.findings if "fabric-" not in one.what] == []
