"""Settings of NICs: asked as the tool wants to be asked, compared as a whole, and never called good unseen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from railweave.host import host_file
from railweave.host.checks import server as running
from railweave.host.checks.outcome import ALL, FAILED, NOT_SEEN, OK
from railweave.host.checks.server import Result, server
from railweave.host.files import content, parsed
from railweave.host.machine import CommandOutput
from tests.host.machines import Parts, Written, healthy, option, pci_of
from tests.host.machines.plans import plan

BROADCOM, NVIDIA = "mi300x-leaf-24", "h100-rlb"
DRIVER_FILE = "/etc/bnxt_re/bnxt_re.conf"


def look(file: Path, parts: Parts, check: str) -> list[Result]:
    return running.run(server(Written(parts), host_file.load(file), parsed(content(file))), [ALL[check]])


def flash(file: Path, parts: Parts, nic: dict[str, Any]) -> tuple[str, str]:
    outcome = next(one.outcome for one in look(file, parts, "nic-flash") if one.outcome.of == nic["netdev"])
    return outcome.verdict, outcome.seen


def test_options_of_a_function_are_asked_with_its_scope(tmp_path: Path) -> None:
    file, document = plan(BROADCOM, tmp_path)
    parts, nic = healthy(document), document["nics"][0]
    address = pci_of(parts, nic["netdev"])
    assert "support_rdma" in nic["firmware_per_function"]
    assert "performance_profile" not in nic["firmware_per_function"]
    assert option(nic, address, "support_rdma")[-2:] == ("--scope", "0")
    assert flash(file, parts, nic)[0] == OK
    words = option(nic, address, "support_rdma")
    parts.commands[words[:-2]] = CommandOutput("support_rdma = 1\n")  # without the scope it would be another function's
    parts.commands[words] = CommandOutput("support_rdma = False\n")
    assert flash(file, parts, nic) == (FAILED, "support_rdma=0 (wanted 1)")


@pytest.mark.parametrize(
    "said",
    [CommandOutput(""), CommandOutput("", code=1, err="invalid option"), CommandOutput("Error: scope is needed\n")],
)
def test_an_option_that_the_tool_does_not_show_is_not_good(tmp_path: Path, said: CommandOutput) -> None:
    file, document = plan(BROADCOM, tmp_path)
    parts, nic = healthy(document), document["nics"][0]
    name = next(iter(nic["firmware_per_function"]))
    parts.commands[option(nic, pci_of(parts, nic["netdev"]), name)] = said
    verdict, seen = flash(file, parts, nic)
    assert verdict == NOT_SEEN
    count = len(nic["firmware"])
    assert seen == f"the tool does not show {name} ({count - 1} of {count} planned settings are as planned)"


def test_a_setting_that_mlxconfig_does_not_show_is_not_good(tmp_path: Path) -> None:
    file, document = plan(NVIDIA, tmp_path)
    parts, nic = healthy(document), document["nics"][0]
    words = ("mlxconfig", "-d", pci_of(parts, nic["netdev"]), "query")
    if words not in parts.commands:
        words = ("mstconfig", *words[1:])
    name = next(iter(nic["firmware"]))
    lines = parts.commands[words].out.splitlines(keepends=True)
    parts.commands[words] = CommandOutput("".join(line for line in lines if name not in line))
    verdict, seen = flash(file, parts, nic)
    assert (verdict, name in seen) == (NOT_SEEN, True)


@pytest.mark.parametrize(
    ("old", "new", "seen"),
    [
        ("ROCE_DSCP=26", "ROCE_DSCP=24", "ROCE_DSCP is 24, not 26"),
        ("ROCE_BW=50", "ROCE_BW=90", "ROCE_BW is 90, not 50"),
        ("FC_MODE=3", "FC_MODE=1", "FC_MODE is 1, not 3"),
        ("UTILITY=4\n", "", "no UTILITY"),
        ("UTILITY=4\n", "UTILITY=4\nROCE_TOS=1\n", "ROCE_TOS=1 is not planned"),
        ("ROCE_PRI=3", "ROCE_PRI=", "ROCE_PRI is , not 3"),
    ],
)
def test_the_drivers_file_is_compared_as_a_whole(tmp_path: Path, old: str, new: str, seen: str) -> None:
    file, document = plan(BROADCOM, tmp_path)
    parts = healthy(document)
    [found] = look(file, parts, "qos-driver-file")
    assert found.outcome.verdict == OK
    assert old in parts.files[DRIVER_FILE]
    parts.files[DRIVER_FILE] = parts.files[DRIVER_FILE].replace(old, new)
    [found] = look(file, parts, "qos-driver-file")
    assert (found.outcome.verdict, found.outcome.seen) == (FAILED, seen)


def test_without_the_drivers_file(tmp_path: Path) -> None:
    file, document = plan(BROADCOM, tmp_path)
    parts = healthy(document)
    del parts.files[DRIVER_FILE]
    [found] = look(file, parts, "qos-driver-file")
    assert (found.outcome.verdict, found.outcome.seen) == (FAILED, f"no {DRIVER_FILE}")
