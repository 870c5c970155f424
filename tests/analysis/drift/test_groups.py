"""The same difference on many switches is said once, with its devices, and the remedy is for running switches."""

from __future__ import annotations

import pytest
from tests.retarget import retargeted

from railweave.analysis.drift.drift import Drift, drift
from railweave.model.device.build import device_config
from railweave.systems import system


def compared(nos: str, changes: dict[str, tuple[str, str]]) -> Drift:
    """What differs if a text of each of these switches is replaced."""
    network = retargeted("h100-rlb", nos)
    running: dict[str, dict[str, str]] = {}
    for switch in network.switches:
        config = device_config(network, switch.name)
        written = system(config.nos).files(config)
        running[switch.name] = {file: written[file] for file in system(config.nos).configurations(config)}
        if switch.name in changes:
            old, new = changes[switch.name]
            (file,) = (name for name, text in running[switch.name].items() if old in text)
            running[switch.name][file] = running[switch.name][file].replace(old, new, 1)
    return drift(network, running)


@pytest.mark.parametrize(
    ("nos", "old", "new"),
    [
        ("eos", "mtu 9202", "mtu 9000"),
        ("sonic", '"mtu": "9202"', '"mtu": "9000"'),
        ("frr", "timers connect 5", "timers connect 7"),
    ],
)
def test_a_difference_of_all_leaves_is_said_once(nos: str, old: str, new: str) -> None:
    network = retargeted("h100-rlb", nos)
    leaves = [switch.name for switch in network.switches if switch.role == "leaf"]
    found = compared(nos, dict.fromkeys(leaves, (old, new)))
    statements = found.statements
    assert {device for device, _, _ in statements[0].places} == set(leaves)
    lines = found.lines()
    heads = [
        line for line in lines if f"{statements[0].id} on {len(leaves)} switches: {', '.join(leaves[:4])}, …" in line
    ]
    assert len(heads) == sum(len(each.places) == len(leaves) and each.id == statements[0].id for each in statements)
    assert len(lines) < len(leaves)  # and not a line or more for each leaf
    assert sum(line.startswith("-> load the designed statements") for line in lines) == 1
    told = found.to_json()["statements"]
    assert isinstance(told, list)
    assert [place["device"] for place in told[0]["devices"]] == [device for device, _, _ in statements[0].places]


def test_a_difference_of_one_switch_stands_below_its_name() -> None:
    found = compared("eos", {"stripe1-leaf1": ("mtu 9202", "mtu 9000")})
    lines = found.lines()
    assert lines[0].startswith("stripe1-leaf1: ")
    assert not [line for line in lines if " switches: " in line]
    assert any(line.startswith("    running ") and line.endswith("mtu 9000") for line in lines)


def test_findings_of_the_running_network_have_a_remedy_for_running_switches() -> None:
    network = retargeted("h100-rlb", "eos")
    leaves = [switch.name for switch in network.switches if switch.role == "leaf"]
    found = compared("eos", dict.fromkeys(leaves[:1], ("mtu 9202", "mtu 9000")))
    assert found.findings
    assert {finding.fix.partition(":")[0] for finding in found.findings} == {"the design does not have this fault"}
    assert all("deploy plan" in finding.fix for finding in found.findings)
    assert compared("eos", {}).lines() == []
