"""``verify`` of a build folder looks at the files that stand there."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from railweave.api import load, verify
from railweave.model.config.secret_words import REFERENCE
from railweave.model.device.build import device_config
from railweave.model.network.model import Network
from railweave.outputs.folder.steps import build
from railweave.outputs.folder.verify import of_device, standing
from railweave.outputs.rendering.network import render_hosts, render_network
from railweave.systems import system
from tests.access import protected
from tests.conftest import EXAMPLES
from tests.retarget import retargeted

SECRETS = "root-hash: $6$x\nnetops-hash: $6$y\nsnmp-community: pub lic\ngrpc-certificate: PEM\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for file in EXAMPLES.glob("h100-rlb.*"):
        shutil.copy(file, tmp_path)
    secrets = tmp_path / "secrets.yaml"
    secrets.write_text(SECRETS)
    secrets.chmod(0o600)
    build(tmp_path / "h100-rlb.yaml", tmp_path / "out", secrets=secrets)
    return tmp_path / "out"


def _ids(folder: Path) -> set[tuple[str, str, int]]:
    return {(f.id, f.where, f.line) for f in verify(folder).findings if f.id.startswith(("file-", "design-"))}


def test_a_folder_as_built_is_as_designed_secrets_and_all(folder: Path) -> None:
    assert "<secret:" not in (folder / "devices/spine1/junos.conf").read_text()
    assert '"pub lic"' in (folder / "devices/spine1/junos.conf").read_text()
    assert _ids(folder) == set()


def test_an_edited_and_a_missing_file_are_found(folder: Path) -> None:
    edited = folder / "devices/spine2/frr.conf"
    lines = edited.read_text().splitlines()
    lines[4] += " please"
    edited.write_text("\n".join(lines) + "\n")
    (folder / "devices/spine3/junos.set").unlink()
    assert _ids(folder) == {("file-edited", "spine2", 5), ("file-missing", "spine3", 0)}


@pytest.fixture
def small(tmp_path: Path) -> tuple[Path, Network, dict[str, str]]:
    """The folder of a small example, its design, and what that renders to."""
    for file in EXAMPLES.glob("mi300x-leaf-31.*"):
        shutil.copy(file, tmp_path)
    build(tmp_path / "mi300x-leaf-31.yaml", tmp_path / "out")
    network = load(tmp_path / "out")
    configs = {one.name: device_config(network, one.name) for one in network.switches}
    return tmp_path / "out", network, render_network(network, configs)[0] | render_hosts(network)


def test_the_design_alone_can_be_checked(small: tuple[Path, Network, dict[str, str]]) -> None:
    folder, _, _ = small
    (folder / "hosts/host1/netplan.yaml").write_text("")
    shutil.rmtree(folder / "devices")
    assert not verify(folder).good
    assert verify(folder, design_only=True).good


def test_what_cannot_be_read_is_an_error(small: tuple[Path, Network, dict[str, str]]) -> None:
    folder, network, rendered = small
    (folder / "devices/leaf1/junos.conf").write_text("")
    (folder / "devices/leaf1/frr.conf").write_bytes(b"router bgp 1\n\xff\n")
    (folder / "hosts/host1/sysctl.conf").write_text("kernel.numa_balancing = 0\nx = \x1b[2J\n")
    (folder / "hosts/host1/host.json").write_text('{"nics": [}')
    (folder / "hosts/host1/nccl.env").unlink()
    os.mkfifo(folder / "hosts/host1/nccl.env")
    (folder / "hosts/host2/netplan.yaml").write_text("network: {version: 2}\nnetwork: {version: 2}\n")
    (folder / "hosts/hostfile").write_text(" \n\n")
    (folder / "cabling.csv").write_bytes(b"\x00")
    found = standing(folder, network, rendered).findings
    assert {(one.id, one.severity) for one in found} == {("file-unreadable", "error")}
    assert {one.file: one.line for one in found} == {
        "devices/leaf1/junos.conf": 1,
        "devices/leaf1/frr.conf": 2,
        "hosts/host1/sysctl.conf": 2,
        "hosts/host1/host.json": 1,
        "hosts/host1/nccl.env": 1,
        "hosts/host2/netplan.yaml": 2,
        "hosts/hostfile": 1,
        "cabling.csv": 1,
    }


def test_the_same_in_other_words_is_a_note(small: tuple[Path, Network, dict[str, str]]) -> None:
    folder, network, rendered = small
    same = {
        "hosts/host1/netplan.yaml": ("mtu: 9000", "mtu: 9000   # jumbo"),
        "hosts/host1/nic-qos.sh": ("set -euo pipefail", "# by hand\n\nset -euo pipefail  # strict"),
        "hosts/host1/nccl.env": ("NCCL_IB_TC=106", "export NCCL_IB_TC='106'"),
        "hosts/host1/sysctl.conf": ("arp_ignore = 2", "arp_ignore=2"),
        "hosts/host1/host.json": (' "schema": 1,', '\n "schema":   1,'),
        "hosts/host1/railweave-host.service": ("Description=", "Description=My "),
        "hosts/host1/rt_tables.conf": ("101\tnic1", "101 nic1"),
        "cabling.csv": ("host1,eth1,", '"host1",eth1,'),
        "devices/leaf1/config.json": ("{\n", "{"),
    }
    for name, (old, new) in same.items():
        text = (folder / name).read_text()
        assert old in text, name
        (folder / name).write_text(text.replace(old, new, 1))
    found = standing(folder, network, rendered).findings
    assert {(one.id, one.severity) for one in found} == {("file-edited", "info")}
    assert {one.file for one in found} == set(same)


def test_files_that_no_build_writes_are_named(small: tuple[Path, Network, dict[str, str]]) -> None:
    folder, network, rendered = small
    for name in ("devices/leaf1/junos.conf.orig", "hosts/host9/netplan.yaml", "hosts/mpirun-old.sh", "notes.txt"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x\n")
    (folder / "runbook/leaf9.md").write_text("x\n")
    (folder / ".git").mkdir()  # a folder that is kept in a repository
    found = standing(folder, network, rendered).findings
    assert {(one.id, one.severity) for one in found} == {("file-unknown", "warning")}
    assert {one.file for one in found} == {
        "devices/leaf1/junos.conf.orig",
        "hosts/host9",
        "hosts/mpirun-old.sh",
        "notes.txt",
        "runbook/leaf9.md",
    }


def test_what_is_not_rendered_again_is_known_by_its_digest(small: tuple[Path, Network, dict[str, str]]) -> None:
    folder, network, rendered = small
    for name in ("report.html", "runbook/leaf1.md", "findings.json"):
        (folder / name).write_text((folder / name).read_text() + "\n")
    (folder / "topology.svg").unlink()
    design = folder / "design.json"
    design.write_text(design.read_text().replace('"MI300X servers', '"Servers'))
    found = standing(folder, network, rendered).findings
    assert {(one.id, one.severity, one.file) for one in found} == {
        ("file-edited", "warning", "report.html"),
        ("file-edited", "warning", "runbook/leaf1.md"),
        ("file-edited", "warning", "findings.json"),
        ("file-missing", "error", "topology.svg"),
        ("design-edited", "error", "design.json"),
    }


def test_an_edited_manifest_is_found(small: tuple[Path, Network, dict[str, str]]) -> None:
    folder, network, rendered = small
    manifest = folder / "manifest.json"
    content = json.loads(manifest.read_text())
    content["files"]["hosts/host1/nccl.env"] = "0" * 64
    manifest.write_text(json.dumps(content))
    [found] = standing(folder, network, rendered).findings
    assert (found.id, found.file) == ("file-edited", "manifest.json")
    assert "hosts/host1/nccl.env" in found.what
    manifest.write_text("[]")
    [found] = standing(folder, network, rendered).findings
    assert (found.id, found.file) == ("file-unreadable", "manifest.json")
    manifest.unlink()
    [found] = standing(folder, network, rendered).findings
    assert (found.id, found.file) == ("file-missing", "manifest.json")


def test_the_form_that_is_not_loaded_is_said_so(small: tuple[Path, Network, dict[str, str]]) -> None:
    folder, network, rendered = small
    for name in ("devices/leaf1/junos.set", "devices/leaf1/junos.conf"):
        (folder / name).write_text((folder / name).read_text().replace("9170", "9000", 1))
    one, other = standing(folder, network, rendered).findings
    assert "loads is junos.conf" in {one.file: one.what for one in (one, other)}["devices/leaf1/junos.set"]
    assert "loads" not in {one.file: one.what for one in (one, other)}["devices/leaf1/junos.conf"]


def test_a_file_that_is_another_servers_is_cut_short(small: tuple[Path, Network, dict[str, str]]) -> None:
    folder, network, rendered = small
    other = (folder / "hosts/host2/host.json").read_text()
    (folder / "hosts/host1/host.json").write_text(other.replace('"dev": "eth', '"dev": "ens'))
    found = standing(folder, network, rendered).findings
    assert 20 < len(found) <= 41
    assert {one.severity for one in found} == {"error"}
    assert any("host is host2, not host1" in one.what for one in found)


INJECTED = (
    '"hash"; } user evil { class super-user; authentication { encrypted-password "x"',
    'x;}}user"evil"{class"super-user"',
    "x\nusername evil privilege 15 role network-admin nopassword",
    'x", "role": "admin',
    "x\nset system login user evil class super-user",
)
"""What somebody might put in a password's place: logins of their own, as the systems write them."""
WORDS = "x role admin"
"""More than a word of a line; between the quotation marks of JSON it is a value."""


@pytest.mark.parametrize("nos", ["junos", "eos", "sonic", "dell_sonic", "frr"])
def test_no_login_hides_in_a_secrets_place(nos: str) -> None:
    network = retargeted("h100-rlb", nos)
    device = network.switches[0].name
    config = protected(device_config(network, device))
    holding = {file: text for file, text in system(nos).files(config).items() if "<secret:" in text}
    assert holding
    for file, text in holding.items():
        name = f"devices/{device}/{file}"
        for reference in dict.fromkeys(REFERENCE.findall(text)):
            whole = f"<secret:{reference}>"
            line = text.count("\n", 0, text.index(whole)) + 1
            assert not list(of_device(network, name, text, text.replace(whole, "$6$abc/.")))
            for value in (*INJECTED, *(() if file.endswith(".json") else (WORDS,))):
                found = list(of_device(network, name, text, text.replace(whole, value, 1)))
                own_line = "\n" in value and text.splitlines()[line - 1].endswith(whole)  # all of it is on the next one
                assert [one.line for one in found] == [line + own_line], (file, reference, value)
