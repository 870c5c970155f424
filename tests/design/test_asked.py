"""What a fabric file asks for by name reaches the switches, or a finding says why not: cases that were once lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.model.device.build import device_config
from railweave.model.findings import Finding
from railweave.model.network.model import Network
from railweave.outputs.folder.designing import design_file
from railweave.systems import system

FABRIC = """
name: asked
fabrics:
  backend:
    topology: {{stripes: 1, spines: 2, leaves_per_stripe: 1, oversubscription: 8}}
    leaf: {{device: qfx5240-64od{release}}}
    {more}
servers: [{{names: n1, model: h100-8gpu-cx7}}]
management: {{root_password: secret:root, users: {{ops: {{password: secret:ops}}}}}}
"""


def network(folder: Path, more: str, release: str = "", device: tuple[str, ...] = ()) -> Network:
    file = folder / "fabric.yaml"
    file.write_text(FABRIC.format(more=more, release=release and f", release: {release}"))
    return design_file(file, device=device)[0]


def lines(found: Network) -> list[str]:
    return [line for one in found.switches for line in system(one.nos).lines(device_config(found, one.name))]


def finding(found: Network, rule: str) -> list[Finding]:
    return [one for one in found.findings if one.id == rule]


@pytest.mark.parametrize("release", ["23.4X100-D41", "25.4R1"])
def test_dpf_by_hand_is_rendered_on_every_release(tmp_path: Path, release: str) -> None:
    found = network(tmp_path, "underlay: {path_color: dpf}", release)
    assert any("fabric-color" in line for line in lines(found))
    said = finding(found, "dpf-release")
    assert [(one.severity, one.line) for one in said] == ([("warning", 7)] if release != "25.4R1" else [])
    assert all(release in one.what and "23.4X100-D41.2" in one.what for one in said)


def test_auto_takes_dpf_from_its_documented_release_on(tmp_path: Path) -> None:
    old, new = (network(tmp_path, "", release) for release in ("23.4X100-D41", "25.4R1"))
    assert not any("fabric-color" in line for line in lines(old))
    assert any("fabric-color" in line for line in lines(new))
    assert not finding(old, "dpf-release")


@pytest.mark.parametrize("nos", ["eos", "sonic", "dell_sonic", "frr"])
def test_dpf_on_a_system_without_it_is_said(tmp_path: Path, nos: str) -> None:
    found = network(tmp_path, "underlay: {path_color: dpf}", device=(f":{nos}",))
    (said,) = finding(found, "not-rendered")
    assert (said.severity, said.line, said.where) == ("warning", 7, f"backend {nos}")
    assert "`underlay.path_color`" in said.what
    assert not finding(network(tmp_path, "underlay: {path_color: auto}", device=(f":{nos}",)), "not-rendered")


ECN = "qos: {classes: {no-loss: {ecn: ECN}}}"


@pytest.mark.parametrize(
    ("nos", "marked", "default"),
    [
        (
            "eos",
            "minimum-threshold 103 kbytes maximum-threshold 309 kbytes max-mark-probability 100 ",
            "minimum-threshold 1000 kbytes maximum-threshold 3000 kbytes max-mark-probability 20 ",
        ),
        ("sonic", "WRED_PROFILE|AZURE_LOSSLESS green_min_threshold 103000", "WRED_PROFILE|AZURE_LOSSLESS green_min_threshold 1048000"),
        (
            "dell_sonic",
            "green minimum-threshold 103 maximum-threshold 309 drop-probability 100",
            "green minimum-threshold 1048 maximum-threshold 2097 drop-probability 5",
        ),
    ],
)  # fmt: skip
def test_fill_levels_become_queue_lengths_where_a_system_counts_bytes(
    tmp_path: Path, nos: str, marked: str, default: str
) -> None:
    text = ECN.replace("ECN", "{min_fill: 10, max_fill: 30, max_probability: 100}")
    found = network(tmp_path, text, device=(f":{nos}",))
    assert any(marked in line for line in lines(found))
    said = finding(found, "ecn-bytes")
    assert {(one.severity, one.line) for one in said} == {("info", 7)}
    assert all("`min_fill` 10 % and `max_fill` 30 % are 103 and 309 kB" in one.what for one in said)
    plain = network(tmp_path, "", device=(f":{nos}",))
    assert any(default in line for line in lines(plain)), "who asks for nothing has the system's own"
    assert not finding(plain, "ecn-bytes")


def test_a_probability_alone_is_kept_with_the_systems_own_lengths(tmp_path: Path) -> None:
    found = network(tmp_path, ECN.replace("ECN", "{max_probability: 50}"), device=(":eos",))
    marked = "minimum-threshold 1000 kbytes maximum-threshold 3000 kbytes max-mark-probability 50 "
    assert any(marked in line for line in lines(found))


def test_queue_lengths_alone_are_said_where_a_system_counts_fill_levels(tmp_path: Path) -> None:
    found = network(tmp_path, ECN.replace("ECN", "{min_bytes: 1000000, max_bytes: 3000000}"))
    gaps = [gap for one in found.switches for gap in system(one.nos).gaps(device_config(found, one.name))]
    assert {one.where for one in gaps if one.id == "junos-marking-bytes"} == {one.name for one in found.switches}


def test_a_range_of_ports_that_no_link_takes_is_said(tmp_path: Path) -> None:
    found = network(tmp_path, "spine: {device: qfx5240-64od, server_ports: {first: 4}}")
    assert [(one.line, one.what.split(":")[0]) for one in finding(found, "ports-unused")] == [
        (7, "`server_ports` of `spine` has no effect")
    ]


def test_own_ports_that_another_model_does_not_take_are_said(tmp_path: Path) -> None:
    more = "paths_per_nic: 1\noverrides: {devices: {stripe1-leaf1: {server_ports: {first: 40}}}}"
    assert not finding(network(tmp_path, more), "override-left-out")
    (said,) = finding(network(tmp_path, more, device=(":eos",)), "override-left-out")
    assert said.line == 8
    assert "`server_ports`" in said.what


def test_a_queue_that_a_system_has_elsewhere_is_said(tmp_path: Path) -> None:
    found = network(tmp_path, "qos: {classes: {no-loss: {queue: 5}}}", device=(":eos",))
    gaps = system("eos").gaps(device_config(found, "stripe1-leaf1"))
    assert [one.what for one in gaps if one.id == "queue-moved"] == ["no-loss has queue 3 for `queue: 5`"]
    plain = network(tmp_path, "", device=(":eos",))
    assert "queue-moved" not in {one.id for one in system("eos").gaps(device_config(plain, "stripe1-leaf1"))}
