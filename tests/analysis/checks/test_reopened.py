"""A section that a text opens again: what it adds is a difference on its line, as on the device, where nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.mutants.configs import designed

from railweave.analysis.checks.devices import DeviceCheck, compare_device
from railweave.model.catalog import in_force
from railweave.outputs.folder.verify import beyond_statements, standing
from railweave.systems import system

EXAMPLE, LEAF = "h100-rlb", "stripe1-leaf1"
AGAIN = [
    ("eos", "eos.conf", "\nend\n", "\ninterface Ethernet1/1\n   shutdown\nend\n", "shutdown"),
    ("dell_sonic", "sonic.cli", "\nend\n", "\ninterface Eth1/1/1\n shutdown\nexit\nend\n", " shutdown"),
    ("frr", "frr.conf", "", "router bgp 4200001001\n neighbor spine-green shutdown\nexit\n", "spine-green shutdown"),
    ("sonic", "frr.conf", "", "router bgp 4200001001\n neighbor spine-green shutdown\nexit\n", "spine-green shutdown"),
    ("junos", "junos.conf", "\nvlans {", "\ninterfaces {\n    et-0/0/0:0 {\n        disable;\n    }\n}\nvlans {", "disable;"),
    ("junos", "junos.conf", "\nvlans {", "\nprotocols {\n    bgp {\n        group spine-green {\n            passive;\n        }\n    }\n}\nvlans {", "passive;"),
    ("sonic", "config_db.json", '{\n    "BREAKOUT_CFG"', '{\n    "BGP_DEVICE_GLOBAL": {"STATE": {"tsa_enabled": "true"}},\n    "BREAKOUT_CFG"', "tsa_enabled"),
]  # fmt: skip


@pytest.mark.parametrize(("nos", "file", "old", "new", "words"), AGAIN)
def test_what_stands_in_a_second_section_is_named_on_its_line(
    nos: str, file: str, old: str, new: str, words: str
) -> None:
    network, configs = designed(EXAMPLE, nos)
    with in_force(network.catalog):
        files = system(nos).files(configs[LEAF])
        own = {name: files[name] for name in system(nos).configurations(configs[LEAF])}
        text = own[file].replace(old, new, 1) if old else own[file] + new
        line = text[: text.rindex(words)].count("\n") + 1
        (finding,) = compare_device(configs[LEAF], own, {file: (file, text)}).findings
    assert (finding.file, finding.line) == (file, line)


def test_lines_that_end_as_those_of_windows_are_named(tmp_path: Path) -> None:
    network, configs = designed(EXAMPLE, "frr")
    name = f"devices/{LEAF}/frr.conf"
    with in_force(network.catalog):
        text = system("frr").files(configs[LEAF])["frr.conf"]
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(text.replace("\n", "\r\n").encode())
        findings = standing(tmp_path, network, {name: text}, apart={name}).findings
    assert [(finding.id, finding.line) for finding in findings if finding.file == name] == [("file-edited", 1)]


@pytest.mark.parametrize(
    ("nos", "file", "old", "new", "words"),
    [
        ("frr", "frr.conf", "\nrouter bgp", "\nend\nrouter bgp", "`end` is not designed"),
        ("dell_sonic", "sonic.cli", "\nrouter bgp", "\nend\nrouter bgp", "`end` is not designed"),
        ("eos", "eos.conf", "   mtu 9202\n", "   mtu 9202\nexit\n", "`exit` is not designed"),
        ("dell_sonic", "sonic.cli", "configure terminal\n", "", "`configure terminal` is missing"),
        ("junos", "junos.conf", "\n    et-0/0/0:0 {", "\n    protect: et-0/0/0:0 {", "`protect: et-0/0/0:0 {` is not designed"),
        ("frr", "frr.conf", "\nrouter bgp", "\n! mine\nrouter bgp", ""),
    ],
)  # fmt: skip
def test_a_line_that_is_no_statement_is_named_where_it_matters(
    nos: str, file: str, old: str, new: str, words: str
) -> None:
    network, configs = designed(EXAMPLE, nos)
    path = f"devices/{LEAF}/{file}"
    with in_force(network.catalog):
        text = system(nos).files(configs[LEAF])[file]
        changed = text.replace(old, new, 1)
        assert changed != text
        checked = {LEAF: DeviceCheck(None)}
        findings = list(beyond_statements({path: (LEAF, file)}, {path: text}, {path: changed}, checked))
    assert [finding.what.partition(": it is not a statement")[0] for finding in findings] == ([words] if words else [])
    assert all(finding.line for finding in findings)
