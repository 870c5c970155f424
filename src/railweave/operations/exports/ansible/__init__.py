"""A design as an Ansible inventory, with playbooks that load the files of a build folder.

Each operating system brings its playbook: its folder has ``ansible_load.yaml``, and ``ansible.yaml`` with the variables of its group and the
collections that the playbook needs. A system without these files has no playbook, and its switches are only in the inventory.
"""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.resources import files as package
from typing import TYPE_CHECKING, Any

import yaml

from railweave.errors import InputError, NetworkPart, Problem
from railweave.operations.exports.contracts import NameRule, check_distinct, check_names
from railweave.reading import packaged_text, packaged_yaml
from railweave.systems.loader import ANSIBLE, ANSIBLE_LOAD

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.resources.abc import Traversable

    from railweave.model.network.model import Network

_SOURCE = "Ansible, Building Ansible inventories"
_HOST = NameRule(
    "an Ansible host", r"[A-Za-z0-9_][A-Za-z0-9_.-]*", "letters, digits, dots, hyphens and underscores", 253, _SOURCE
)
SERVERS = "servers"
"""The group of all servers."""
NOT_ACTIVE = "not_active"
"""The group of failed and drained devices. No playbook touches them: a run ends at the first device that does not answer."""
_RESERVED = frozenset({"all", "ungrouped"})
"""Groups that Ansible makes itself (Ansible, How to build your inventory: Default groups)."""
_CONFIGURATION = """\
[defaults]
inventory = inventory.yaml
host_key_checking = True
"""


class _Dumper(yaml.SafeDumper):
    """A writer of YAML that indents the entries of lists, as ansible-lint asks for."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - PyYAML's own
        """Begin a new level; lists inside maps are indented."""
        super().increase_indent(flow, False)


def _dumped(value: object) -> str:
    return "---\n" + yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=150)


def files(network: Network) -> dict[str, str]:
    """Return the inventory, the playbooks and their requirements by file name.

    Raises ``InputError`` if Ansible would refuse a name, or if two groups become the same.
    """
    network = _without_planned(network)
    names = [device.name for device in (*network.switches, *network.servers)]
    check_names(_HOST, names)
    groups = _groups(network)
    _check_groups(groups, names)
    systems = list(dict.fromkeys(switch.nos for switch in network.switches))
    parts = {nos: _part(nos) for nos in systems}
    variables = {f"system_{nos}": part["variables"] for nos, part in parts.items() if part}
    result = {"inventory.yaml": _dumped(_inventory(network, groups, variables)), "ansible.cfg": _CONFIGURATION}
    playbooks: list[str] = []
    collections: dict[str, dict[str, str]] = {}
    for nos in systems:
        if part := parts[nos]:
            playbooks.append(f"load-{nos.replace('_', '-')}.yaml")
            result[playbooks[-1]] = packaged_text(_file(nos, ANSIBLE_LOAD))
            collections |= {entry["name"]: entry for entry in part["collections"]}
    playbooks.append("load-servers.yaml")
    result[playbooks[-1]] = packaged_text(package(__name__) / "servers.yaml")
    result["site.yaml"] = _dumped(
        [{"name": _imported(name), "ansible.builtin.import_playbook": name} for name in playbooks]
    )
    if collections:
        result["requirements.yaml"] = _dumped({"collections": list(collections.values())})
    return result


def _without_planned(network: Network) -> Network:
    """Return the network without devices that are only planned: a playbook would end at a device that does not exist."""
    planned = {part.name for part in network.not_active if part.status == "planned"}
    return replace(
        network,
        switches=tuple(switch for switch in network.switches if switch.name not in planned),
        servers=tuple(server for server in network.servers if server.name not in planned),
    )


def _imported(playbook: str) -> str:
    return "Load the files of " + playbook.removeprefix("load-").removesuffix(".yaml").replace("-", " ")


def _file(nos: str, name: str) -> Traversable:
    return package("railweave.systems") / nos / name


def _part(nos: str) -> dict[str, Any]:
    """Return the variables and collections of a system; an empty map if it has no playbook."""
    file = _file(nos, ANSIBLE)
    return packaged_yaml(packaged_text(file)) if file.is_file() else {}


def group_name(*words: str) -> str:
    """Return the name of a group: letters, digits and underscores only (Ansible: invalid characters in group names)."""
    return re.sub(r"[^A-Za-z0-9_]", "_", "_".join(words))


def _groups(network: Network) -> dict[tuple[str, ...], list[str]]:
    """Return the hosts of each group. A group is identified by the words of its name, such as (stripe, stripe1).

    ``not_active`` is always among them, because Ansible warns about the name of a group that does not exist.
    """
    several = len(network.fabrics) > 1
    groups: dict[tuple[str, ...], dict[str, None]] = {(NOT_ACTIVE,): {}}

    def add(host: str, *words: str) -> None:
        groups.setdefault(words, {})[host] = None

    for switch in network.switches:
        fabric = [switch.fabric] if several else []
        add(
            switch.name,
            {"leaf": "leaves", "spine": "spines", "super-spine": "super_spines"}.get(switch.role, switch.role),
        )
        add(switch.name, "system", switch.nos)
        add(switch.name, "fabric", switch.fabric)
        for word, value in (
            ("site", switch.site),
            ("pod", switch.pod),
            ("plane", switch.plane),
            ("stripe", switch.stripe),
        ):
            if value and (word != "stripe" or switch.role == "leaf"):
                add(switch.name, word, *([] if word == "site" else fabric), value)
        for rail in switch.rails if switch.role == "leaf" else ():
            add(switch.name, "rail", *fabric, str(rail))
    for server in network.servers:
        model = network.catalog.servers.get(server.model)
        add(server.name, SERVERS)
        add(server.name, "gpu_servers" if model is not None and model.gpus else "other_servers")
        add(server.name, "site", server.site)
        for nic in server.nics:
            add(server.name, "fabric", nic.fabric)
            add(server.name, "stripe", *([nic.fabric] if several else []), nic.stripe)
    for device in (*network.switches, *network.servers):
        if device.name in network.absent:
            add(device.name, NOT_ACTIVE)
    return {words: list(hosts) for words, hosts in groups.items()}


def _check_groups(groups: Iterable[tuple[str, ...]], hosts: Iterable[str]) -> None:
    named = {" ".join(words): group_name(*words) for words in groups}
    check_distinct("the group", named)
    both = (set(named.values()) | _RESERVED) & {*hosts}
    if both:
        fix = "change the name in the fabric file (`naming:` or `servers:`)"
        message = f"the name is also that of a group of hosts ({_SOURCE})"
        raise InputError([Problem(NetworkPart(name), message, fix) for name in sorted(both)])


def _inventory(network: Network, groups: dict[tuple[str, ...], list[str]], variables: dict[str, Any]) -> dict[str, Any]:
    """Return the inventory. A host's variables are where the group ``all`` names it; other groups only name their hosts."""
    hosts: dict[str, dict[str, Any]] = {}
    for switch in network.switches:
        hosts[switch.name] = {
            "ansible_host": switch.management_address.partition("/")[0],
            "railweave_role": switch.role,
            "railweave_model": switch.model,
            "railweave_system": switch.nos,
            "railweave_asn": switch.asn,
            "railweave_router_id": switch.router_id,
        }
    for server in network.servers:
        hosts[server.name] = {"railweave_role": "server", "railweave_model": server.model}
    for name, position in network.positions.items():
        if name in hosts:
            hosts[name] |= {"railweave_rack": position.rack, "railweave_unit": position.unit}
    children: dict[str, Any] = {}
    for words, members in groups.items():
        name = group_name(*words)
        children[name] = {"hosts": dict.fromkeys(members)}
        if variables.get(name):
            children[name]["vars"] = variables[name]
    children[SERVERS] = {**children.get(SERVERS, {"hosts": {}}), "vars": {"ansible_become": True}}
    build = {"railweave_build": "{{ inventory_dir }}/build"}
    return {"all": {"hosts": hosts, "vars": build, "children": children}}
