"""Checks that name a cause, or ask another tool: router advertisements, rocm-smi, memory, switches of other vendors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from railweave.host.checks.outcome import FAILED, NOT_SEEN, WARNING, Outcome
from railweave.model.catalog import packaged
from railweave.model.device.host import host_config
from railweave.outputs.rendering.host.host_json import document
from tests.conftest import example
from tests.host.machines import Parts, Written, forms, healthy
from tests.host.machines.plans import plan
from tests.host.test_checks import look


def outcomes(file: Path, parts: Parts, check: str) -> list[Outcome]:
    return [one.outcome for one in look(file, Written(parts)) if one.check.id == check]


@pytest.mark.parametrize(
    ("settings", "sysctl", "says"),
    [
        ({"accept_ra": "0"}, "net.ipv6.conf.default.accept_ra = 0\n", "accept_ra is 0 (/etc/sysctl.d/99-hardening.conf:2: net"),
        ({"accept_ra": "1", "forwarding": "1"}, "", "accept_ra is 1 and forwarding is 1, so there is no address"),
        ({"accept_ra": "2", "autoconf": "0"}, "", "autoconf is 0, so"),
        ({"disable_ipv6": "1", "accept_ra": "1"}, "", "disable_ipv6 is 1, so"),
        ({"accept_ra": "1"}, "", ""),
    ],
)  # fmt: skip
def test_a_missing_address_names_the_setting_that_refuses_it(
    settings: dict[str, str], sysctl: str, says: str, tmp_path: Path
) -> None:
    file, wanted = plan("h100-rlb", tmp_path)
    nic = next(one for one in wanted["nics"] if one["slaac"])
    wanted["router_advertisements"] = "kernel"
    file.write_text(json.dumps(wanted))
    parts = healthy(wanted)
    parts.files.update({f"/proc/sys/net/ipv6/conf/{nic['netdev']}/{name}": value for name, value in settings.items()})
    if sysctl:
        parts.files["/etc/sysctl.d/99-hardening.conf"] = f"# hardened\n{sysctl}"
    links = json.loads(parts.commands["ip", "-j", "addr", "show"].out)
    next(one for one in links if one["ifname"] == nic["netdev"])["addr_info"] = []
    parts.say(json.dumps(links), "ip", "-j", "addr", "show")
    [told] = [one for one in outcomes(file, parts, "host-addresses") if one.verdict == FAILED]
    assert told.seen.startswith(says)
    assert told.of == nic["netdev"]
    assert ("sysctl -w" in told.remedy) == bool(says)
    assert ("/etc/sysctl.d/99-hardening.conf" in told.remedy) == bool(sysctl)


@pytest.mark.parametrize(
    ("odd", "wrong"),
    [
        ({}, {}),
        ({"Performance_Level": "manual"}, {"gpu-clocks": WARNING}),
        ({"Compute_Partition": "CPX"}, {"gpu-partition": FAILED}),
        ({"Memory_Partition": "NPS4"}, {"gpu-partition": FAILED}),
    ],
)
def test_rocm_smi_is_asked_where_amd_smi_is_not(odd: dict[str, str], wrong: dict[str, str], tmp_path: Path) -> None:
    """What rocm-smi does not show stays unseen, and never becomes good."""
    file, wanted = plan("mi300x-leaf-24", tmp_path)
    parts = healthy(wanted)
    for words in [words for words in parts.commands if words[0] == "amd-smi"]:
        del parts.commands[words]
    asked = ("rocm-smi", "--showbus", "--showcomputepartition", "--showmemorypartition", "--showperflevel", "--json")
    parts.say(forms.rocm(parts.gpus, **odd), *asked)
    said = {one.check.id: one.outcome for one in look(file, Written(parts)) if one.check.subject == "gpus"}
    assert {name: one.verdict for name, one in said.items() if one.verdict in {FAILED, WARNING}} == wrong
    assert said["gpu-count"].seen == "8"
    assert {name for name, one in said.items() if one.verdict == NOT_SEEN} == {
        "gpu-links",
        "gpu-memory-errors",
        "gpu-vbios",
    }
    cards = json.loads(forms.rocm(parts.gpus))
    del cards["card5"]
    parts.say(json.dumps(cards), *asked)
    [told] = outcomes(file, parts, "gpu-count")
    assert (told.verdict, told.seen, told.wanted) == (FAILED, "7", "8")


def test_memory_below_the_models_is_a_failure(tmp_path: Path) -> None:
    """A hardware file has the memory of its servers; a server that lost two of 32 modules has less on each node alike."""
    config = host_config(example("h100-rlb"), "H100-01")
    assert "memory_gib" not in document(config)
    stated = {name: model.memory_gib for name, model in packaged().servers.items() if model.memory_source}
    assert stated == dict.fromkeys(("dgx-h100", "dgx-h100-aidc", "dgx-h200", "dgx-b200"), 2048)
    assert not any(model.memory_gib for name, model in packaged().servers.items() if name not in stated)
    file, wanted = plan("h100-rlb", tmp_path)
    wanted["memory_gib"] = 2048
    file.write_text(json.dumps(wanted))
    parts = healthy(wanted)
    assert [one.verdict for one in outcomes(file, parts, "system-memory")] == ["ok"]
    parts.files["/proc/meminfo"] = parts.files["/proc/meminfo"].replace("2113376136", "1981290128")
    [told] = outcomes(file, parts, "system-memory")
    assert (told.verdict, told.seen) == (FAILED, "1889 GiB")


@pytest.mark.parametrize(
    ("system", "verdict"),
    [
        ("Juniper Networks, Inc. qfx5240-64od Ethernet Switch, kernel JUNOS 23.4X100", WARNING),
        ("Arista Networks EOS version 4.33.1F running on an Arista Networks 7060X6", WARNING),
        ("Cumulus Linux version 5.11.0 running on NVIDIA SN5600", "ok"),
        ("a switch", "ok"),
    ],
)
def test_adaptive_routing_behind_another_vendors_switch_is_said(system: str, verdict: str, tmp_path: Path) -> None:
    file, wanted = plan("h100-rlb", tmp_path)
    for fabric in wanted["fabrics"].values():
        fabric["roce"]["adaptive_routing"] = True
    file.write_text(json.dumps(wanted))
    parts = healthy(wanted)
    lldp = json.loads(parts.commands["lldpctl", "-f", "json0"].out)
    for row in lldp["lldp"][0]["interface"]:
        row["chassis"][0]["descr"][0]["value"] = system
    parts.say(json.dumps(lldp), "lldpctl", "-f", "json0")
    assert {one.verdict for one in outcomes(file, parts, "qos-adaptive-routing")} == {verdict}


def test_a_switch_that_does_not_say_its_frame_size_is_not_seen(tmp_path: Path) -> None:
    file, wanted = plan("h100-rlb", tmp_path)
    parts = healthy(wanted)
    lldp = json.loads(parts.commands["lldpctl", "-f", "json0"].out)
    for row in lldp["lldp"][0]["interface"]:
        del row["port"][0]["mfs"]
    parts.say(json.dumps(lldp), "lldpctl", "-f", "json0")
    assert {one.verdict for one in outcomes(file, parts, "link-switch-mtu")} == {NOT_SEEN}
    for words in [words for words in parts.commands if words[0] == "ping"]:
        del parts.commands[words]
    assert {one.verdict for one in outcomes(file, parts, "host-path-mtu")} == {NOT_SEEN}


def test_few_packets_have_no_share(tmp_path: Path) -> None:
    """17 of 40 packets were sent again while a link came up: nothing to say of it."""
    file, wanted = plan("h100-rlb", tmp_path)
    parts = healthy(wanted)
    port = f"/sys/class/infiniband/{wanted['nics'][0]['rdma']}/ports/1"
    parts.files[f"{port}/counters/port_xmit_packets"] = "40"
    first, *others = outcomes(file, parts, "share-resends")
    assert first.verdict == "not applicable"
    assert "40 packets sent, too few" in first.seen
    assert {one.verdict for one in others} == {"ok"}
    del parts.files[f"{port}/counters/port_xmit_packets"]
    assert outcomes(file, parts, "share-resends")[0].verdict == NOT_SEEN
