"""The Ansible inventory and playbooks, by themselves and by Ansible's own programs where ``tools/ansible.sh`` has installed them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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


SHOWN_FIRST = "{{ ansible_check_mode or not (railweave_apply | default(false) | bool) }}"


@pytest.mark.parametrize("nos", systems())
def test_every_system_has_a_playbook_that_shows_first(nos: str) -> None:
    texts = files(retargeted("h100-rlb", nos))
    plays = yaml.safe_load(texts[f"load-{nos.replace('_', '-')}.yaml"])
    assert [play["hosts"] for play in plays] == [f"system_{nos}"]
    assert all(play["check_mode"] == SHOWN_FIRST for play in plays)
    assert f"system_{nos}" in yaml.safe_load(texts["inventory.yaml"])["all"]["children"]


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
        assert set(listed[group]["hosts"]) == set(content["hosts"]), group


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
            *(
                "-e",
                f"railweave_staged={tmp_path / 'staged.json'}",
                "-e",
                f"ansible_python_interpreter={sys.executable}",
            ),
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
