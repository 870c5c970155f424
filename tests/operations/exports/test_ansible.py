"""The Ansible inventory and playbooks, by themselves and by Ansible's own programs where ``tools/ansible.sh`` has installed them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from railweave.errors import InputError
from railweave.operations.exports.ansible import files, group_name
from railweave.systems import systems
from tests.conftest import ROOT, SMALL, designed, example
from tests.netns import needs_root, server
from tests.retarget import retargeted

PLACE = Path(os.environ.get("RAILWEAVE_ANSIBLE", ROOT / ".validators" / "ansible"))
needs_ansible = pytest.mark.skipif(
    not (PLACE / "bin" / "ansible-lint").exists(), reason=f"no Ansible in {PLACE}: tools/ansible.sh {PLACE}"
)


def written(folder: Path, name: str, nos: str = "") -> Path:
    """An example's files, in a folder."""
    for file, text in files(retargeted(name, nos) if nos else example(name)).items():
        (folder / file).write_text(text)
    return folder


def ran(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a program of Ansible's in a folder."""
    path = f"{PLACE / 'bin'}:{os.environ['PATH']}"
    env = {
        **os.environ,
        "PATH": path,
        "HOME": str(folder),
        "ANSIBLE_NOCOLOR": "1",
        "NO_COLOR": "1",
        "LC_ALL": "C.UTF-8",
        **more,
    }
    return subprocess.run(words, check=False, cwd=folder, env=env, capture_output=True, text=True, timeout=600)


def inventory_of(name: str) -> dict[str, Any]:
    """The inventory of an example, as a value."""
    return yaml.safe_load(files(example(name))["inventory.yaml"])["all"]


def test_groups_are_roles_rails_stripes_and_systems() -> None:
    inventory = inventory_of("three-vendors")
    children = {name: list(group["hosts"]) for name, group in inventory["children"].items()}
    assert children["spines"] == ["fra1-spine1", "fra1-spine2"]
    assert children["system_eos"] == ["fra1-h100-leaf1", "fra1-h100-leaf2"]
    assert children["rail_1"] == ["fra1-h100-leaf1", "fra1-mi300x-leaf1"]
    assert set(children["stripe_h100"]) == {
        "fra1-h100-leaf1",
        "fra1-h100-leaf2",
        *(f"fra1-h100-0{n}" for n in range(1, 5)),
    }
    assert len(children["gpu_servers"]) == len(children["servers"]) == 8


def test_a_switch_has_its_management_address_and_its_connection() -> None:
    inventory = inventory_of("three-vendors")
    assert inventory["hosts"]["fra1-h100-leaf1"]["ansible_host"] == "10.30.0.10"
    assert inventory["hosts"]["fra1-h100-leaf1"]["railweave_asn"] == 64710
    assert inventory["children"]["system_eos"]["vars"]["ansible_network_os"] == "arista.eos.eos"
    assert inventory["children"]["system_junos"]["vars"]["ansible_port"] == 830
    assert "ansible_host" not in inventory["hosts"]["fra1-h100-01"]


def test_planes_are_groups() -> None:
    assert {"plane_plane1", "plane_plane2"} <= inventory_of("two-planes")["children"].keys()


def test_a_stripe_of_several_fabrics_has_the_name_of_its_fabric() -> None:
    children = inventory_of("aidc-three-fabrics")["children"]
    assert "stripe_backend1_stripe1" in children
    assert "stripe_stripe1" not in children


def test_a_group_has_letters_digits_and_underscores_only() -> None:
    assert group_name("stripe", "row-1.a") == "stripe_row_1_a"


FABRIC = """
name: small
fabrics:
  backend:
    topology: {{stripes: [{stripes}], spines: 1}}
    leaf: {{device: qfx5240-64od}}
    spine: {{device: qfx5240-64od}}
    naming: {{leaf: "{leaf}"}}
servers:
  - {{names: "{server}", model: h100-8gpu-cx7, stripe: {first}}}
"""


def test_stripes_that_become_one_group_are_refused(tmp_path: Path) -> None:
    text = FABRIC.format(stripes="row-1, row.1", leaf="{stripe}-leaf{leaf}", server="gpu-1", first="row-1")
    network, _ = designed(tmp_path, text)
    with pytest.raises(InputError, match="would have the same name as stripe row-1: stripe_row_1"):
        files(network)


def test_a_host_with_the_name_of_a_group_is_refused(tmp_path: Path) -> None:
    text = FABRIC.format(stripes="row1", leaf="{stripe}-leaf{leaf}", server="gpu_servers", first="row1")
    network, _ = designed(tmp_path, text)
    with pytest.raises(InputError, match="also that of a group"):
        files(network)


@pytest.mark.parametrize("name", ["all", "ungrouped"])
def test_a_host_with_the_name_of_a_group_of_ansible_is_refused(name: str, tmp_path: Path) -> None:
    text = FABRIC.format(stripes="row1", leaf="{stripe}-leaf{leaf}", server="gpu-1", first="row1")
    network, _ = designed(tmp_path, text)
    switch, server = replace(network.switches[0], name=name), replace(network.servers[0], name=name)
    for wrong in (replace(network, switches=(switch,)), replace(network, servers=(server,))):
        with pytest.raises(InputError, match=f"{name}.*also that of a group"):
            files(wrong)


STATUS = "status: {row1-leaf1: failed, row1-leaf2: drained, row1-leaf3: planned, gpu-1: drained}\n"


def status_files(folder: Path) -> dict[str, str]:
    """The files of a fabric in which not every device is active."""
    text = FABRIC.format(stripes="row1", leaf="{stripe}-leaf{leaf}", server="gpu-[1-2]", first="row1")
    return files(designed(folder, text.replace("spines: 1", "spines: 2") + STATUS)[0])


def test_failed_and_drained_devices_are_in_a_group_and_planned_ones_are_not_there(tmp_path: Path) -> None:
    texts = status_files(tmp_path)
    inventory = yaml.safe_load(texts["inventory.yaml"])["all"]
    assert set(inventory["children"]["not_active"]["hosts"]) == {"row1-leaf1", "row1-leaf2", "gpu-1"}
    assert "row1-leaf3" not in inventory["hosts"]
    assert yaml.safe_load(texts["load-servers.yaml"])[0]["hosts"] == "servers:!not_active"
    assert inventory_of("three-vendors")["children"]["not_active"] == {"hosts": {}}


@needs_ansible
@pytest.mark.validator
def test_playbooks_leave_out_what_is_not_active(tmp_path: Path) -> None:
    for name, text in status_files(tmp_path).items():
        (tmp_path / name).write_text(text)
    done = ran(tmp_path, "ansible-playbook", "--list-hosts", "site.yaml")
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    listed = {line.strip() for line in done.stdout.splitlines()}
    assert {"gpu-2", "row1-leaf4"} <= listed
    assert not listed & {"gpu-1", "row1-leaf1", "row1-leaf2", "row1-leaf3"}


SHOWN_FIRST = "{{ ansible_check_mode or not (railweave_apply | default(false) | bool) }}"


@pytest.mark.parametrize("nos", systems())
def test_every_system_has_a_playbook_that_shows_first(nos: str) -> None:
    texts = files(retargeted("h100-rlb", nos))
    plays = yaml.safe_load(texts[f"load-{nos.replace('_', '-')}.yaml"])
    assert [play["hosts"] for play in plays] == [f"system_{nos}:!not_active"]
    assert all(play["check_mode"] == SHOWN_FIRST for play in plays)
    assert f"system_{nos}" in yaml.safe_load(texts["inventory.yaml"])["all"]["children"]


@pytest.mark.parametrize("nos", ["frr", "sonic"])
def test_keys_are_in_a_temporary_folder_only(nos: str) -> None:
    """No name that another user could make first; what is copied there is private, and is removed also after a failure."""
    text = files(retargeted("h100-rlb", nos))[f"load-{nos}.yaml"]
    assert not re.search(r"/tmp\b", text)  # noqa: S108 - what the playbooks must not have
    play = yaml.safe_load(text)[0]
    assert not play.get("diff")
    *_, last = play["tasks"]
    copy = last["block"][0]["ansible.builtin.copy"]
    assert copy["mode"] == "0600"
    assert last["always"][0]["ansible.builtin.file"] == {"path": "{{ railweave_temporary.path }}", "state": "absent"}
    assert all(task["diff"] is False for task in last["block"] if "ansible.builtin.copy" in task)
    reading = [task for task in last["block"] if {"ansible.builtin.command", "ansible.builtin.shell"} & task.keys()]
    assert reading
    assert all(task["no_log"] for task in reading)


_PROGRAM = """#!/usr/bin/env python3
# In place of vtysh and frr-reload.py: shows the file, as frr-reload.py --test does, and notes who may read it.
import os, sys
name = sys.argv[-1]
with open({notes!r}, "a") as notes:
    notes.write(f"{{name}} {{os.stat(name).st_mode & 0o777:o}} {{os.stat(os.path.dirname(name)).st_mode & 0o777:o}}\\n")
print(open(name).read())
print("refused: " + open(name).read().splitlines()[-1], file=sys.stderr)
sys.exit({status} if "--test" in sys.argv else 0)
"""


@needs_ansible
@pytest.mark.validator
@pytest.mark.parametrize("status", [0, 1])
def test_the_playbook_of_frr_shows_no_key_and_leaves_no_copy(status: int, tmp_path: Path) -> None:
    written(tmp_path, "h100-rlb", "frr")
    device = tmp_path / "build" / "devices" / "spine1"
    device.mkdir(parents=True)
    (device / "frr.conf").write_text("router bgp 64512\n neighbor 10.0.0.1 password Geheim-77\n")
    notes = tmp_path / "notes"
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("vtysh", "frr-reload.py"):
        (programs / name).write_text(_PROGRAM.format(notes=str(notes), status=status))
        (programs / name).chmod(0o755)
    done = ran(
        *(tmp_path, "ansible-playbook", "load-frr.yaml", "-l", "spine1", "-c", "local", "-v", "--diff"),
        *("-e", "ansible_connection=local", "-e", "ansible_become=false"),
        *("-e", f"railweave_frr_reload={programs / 'frr-reload.py'}"),
        *("-e", f"ansible_python_interpreter={sys.executable}"),
        PATH=f"{programs}:{PLACE / 'bin'}:{os.environ['PATH']}",
    )
    assert (done.returncode == 0) == (status == 0), done.stdout + done.stderr
    assert "neighbor 10.0.0.1 password <hidden>" in done.stdout
    assert "Geheim-77" not in done.stdout + done.stderr
    lines = [line.split() for line in notes.read_text().splitlines()]
    assert [(mode, folder) for _, mode, folder in lines] == [("600", "700")] * 2
    assert not any(Path(name).parent.exists() for name, *_ in lines)


@needs_ansible
@pytest.mark.validator
def test_playbooks_pass_ansible_lint(tmp_path: Path) -> None:
    for nos in systems():
        written(tmp_path, "h100-rlb", nos)
    written(tmp_path, "three-vendors")
    for nos in systems():  # site.yaml is that of the last; all playbooks lie beside it
        written(tmp_path, "h100-rlb", nos)
    done = ran(tmp_path, "ansible-lint", "--profile", "production", "--offline", ".")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Profile 'production' was required, and it passed" in done.stdout + done.stderr


@needs_ansible
@pytest.mark.validator
@pytest.mark.parametrize("nos", systems())
def test_playbooks_have_the_syntax_of_ansible(nos: str, tmp_path: Path) -> None:
    written(tmp_path, "h100-rlb", nos)
    done = ran(tmp_path, "ansible-playbook", "--syntax-check", "site.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


@needs_ansible
@pytest.mark.validator
@pytest.mark.parametrize("name", SMALL)
def test_ansible_reads_the_inventory(name: str, tmp_path: Path) -> None:
    written(tmp_path, name)
    done = ran(tmp_path, "ansible-inventory", "--list")
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    listed = json.loads(done.stdout)
    network = example(name)
    assert listed["_meta"]["hostvars"].keys() == {device.name for device in (*network.switches, *network.servers)}
    inventory = inventory_of(name)
    for group, content in inventory["children"].items():
        assert set(listed.get(group, {}).get("hosts", ())) == set(content["hosts"]), (
            group
        )  # an empty group is not listed


def kept() -> set[Path]:
    """The files in which railweave-host keeps what it made."""
    return set(Path("/var/lib/railweave").glob("*"))


@needs_ansible
@needs_root
@pytest.mark.lab
def test_servers_are_shown_the_plan_and_then_get_it(tmp_path: Path) -> None:
    """railweave-host itself, on a server with the NICs of the design: rules come only with railweave_apply."""
    network = example("mi300x-leaf-31")
    first = network.servers[0]
    written(tmp_path, network.name)
    folder = tmp_path / "build"
    words = [sys.executable, "-m", "railweave"]
    example_file = ROOT / "examples" / "mi300x-leaf-31.yaml"
    subprocess.run([*words, "build", example_file, "-o", folder, "-q"], check=False, capture_output=True)
    program = tmp_path / "railweave-host"
    subprocess.run([*words, "host", "zipapp", program], check=True, capture_output=True)
    kept_before = kept()
    with server([nic.netdev for nic in first.nics]) as host:
        for nic in first.nics:
            host.run(
                "ip", "addr", "add", f"{nic.addresses[0].address}/{nic.addresses[0].prefix_length}", "dev", nic.netdev
            )
        play = (
            *host.argv(PLACE / "bin" / "ansible-playbook", "load-servers.yaml", "-l", first.name, "-c", "local"),
            *(
                "-e",
                "ansible_become=false",
                "-e",
                f"railweave_host={program}",
                "-e",
                f"railweave_etc={tmp_path / 'etc'}",
            ),
            *("-e", f"ansible_python_interpreter={sys.executable}"),
        )
        try:
            before = host.run("ip", "rule").stdout
            shown = ran(tmp_path, *play)
            assert shown.returncode == 0, shown.stdout + shown.stderr
            assert host.run("ip", "rule").stdout == before
            assert not (tmp_path / "etc").exists()
            checked = ran(tmp_path, *play, "-e", "railweave_apply=true", "--check")
            assert checked.returncode == 0, checked.stdout + checked.stderr
            assert host.run("ip", "rule").stdout == before
            assert not (tmp_path / "etc").exists()
            done = ran(tmp_path, *play, "-e", "railweave_apply=true")
            assert done.returncode == 0, done.stdout + done.stderr
            assert host.run("ip", "rule").stdout != before
            assert (tmp_path / "etc" / "host.json").exists()
            again = ran(tmp_path, *play, "-e", "railweave_apply=true")
            assert "changed=0" in again.stdout, again.stdout
        finally:  # what apply keeps is in a folder of the machine, not of the namespace
            host.run(sys.executable, program, "undo", check=False)
            for path in kept() - kept_before:
                path.unlink()


@pytest.mark.parametrize("tool", ["ansible.sh", "inventory-server.sh netbox", "inventory-server.sh nautobot"])
def test_a_folder_of_the_user_is_left_as_it_is(tool: str, tmp_path: Path) -> None:
    """The tools make folders of hundreds of megabytes; another folder by the same name is neither deleted nor filled."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "thesis.txt").write_text("two years\n")
    script, *words = tool.split()
    command = [ROOT / "tools" / script, *words, folder]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stderr
    assert "nothing was changed" in done.stderr
    assert [(path.name, path.read_text()) for path in tmp_path.rglob("*.txt")] == [("thesis.txt", "two years\n")]
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
