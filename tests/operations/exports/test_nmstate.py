"""nmstate's own program over the policies of nodes: what it would hand to NetworkManager.

``nmstatectl gc`` needs no NetworkManager. It is found by RAILWEAVE_NMSTATECTL or PATH
(`cargo install nmstatectl --no-default-features --features gen_conf`).
"""

from __future__ import annotations

import configparser
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from railweave.model.device.host import host_config
from railweave.model.device.host_model import HostNic
from railweave.operations.exports import kubernetes
from railweave.operations.exports.placement import placements
from tests.conftest import example
from tests.operations.exports.read import documents
from tests.operations.exports.test_kubernetes import GPU_NETWORKS


def _profiles(program: str, folder: Path, state: object) -> dict[str, configparser.ConfigParser]:
    """The connection profiles of NetworkManager that nmstate makes of a state, by interface."""
    file = folder / "state.yaml"
    file.write_text(yaml.safe_dump(state))
    done = subprocess.run([program, "gc", str(file)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    profiles: dict[str, configparser.ConfigParser] = {}
    for _, text in yaml.safe_load(done.stdout)["NetworkManager"]:
        profile = configparser.ConfigParser(interpolation=None)
        profile.read_string(text)
        profiles[profile["connection"]["interface-name"]] = profile
    return profiles


def _values(profile: configparser.ConfigParser, start: str) -> list[str]:
    return [
        value
        for family in ("ipv4", "ipv6")
        for name, value in profile[family].items()
        if name.startswith(start) and not name.endswith("_options")
    ]


def _routes(profile: configparser.ConfigParser) -> list[tuple[str, str, str]]:
    """The routes of a profile as (destination, gateway, table)."""
    routes: list[tuple[str, str, str]] = []
    for family in ("ipv4", "ipv6"):
        for name, value in profile[family].items():
            if name.startswith("route") and name.removeprefix("route").isdigit():
                to, gateway, _ = value.split(",")
                to = "default" if to in {"0.0.0.0/0", "::/0"} else to
                routes.append((to, gateway, profile[family].get(f"{name}_options", "")))
    return sorted(routes)


def _main(nic: HostNic) -> list[tuple[str, str]]:
    """The routes of the main table as (destination, gateway); examples have those of one family only."""
    return [(to, str(nic.addresses[0].gateway)) for to in nic.main_routes]


@pytest.mark.validator
@pytest.mark.parametrize("name", GPU_NETWORKS)
def test_network_manager_gets_the_addresses_routes_and_rules_of_the_design(name: str, tmp_path: Path) -> None:
    program = os.environ.get("RAILWEAVE_NMSTATECTL") or shutil.which("nmstatectl")
    if program is None:
        pytest.skip("there is no nmstatectl: name it by RAILWEAVE_NMSTATECTL")
    network = example(name)
    files = kubernetes.files(network)
    place = placements(network)[-1]
    config = host_config(network, place.server)
    profiles: dict[str, configparser.ConfigParser] = {}
    for folder in ("nmstate", f"nmstate-gpus/{place.fabric}"):
        for policy in documents(files.get(f"{folder}/{place.server.lower()}.yaml", "")):
            profiles |= _profiles(program, tmp_path, policy["spec"]["desiredState"])
    assert profiles.keys() == {nic.netdev for nic in config.nics}
    for nic in config.nics:
        profile = profiles[nic.netdev]
        assert profile["ethernet"]["mtu"] == str(nic.mtu)
        assert (profile["ipv6"]["method"] == "auto") is nic.slaac
        static = {
            f"{address.address}/{address.prefix_length}" for address in nic.addresses if address.origin == "static"
        }
        assert set(_values(profile, "address")) == static
        assert _routes(profile) == sorted(
            [
                (str(route.to), str(route.via or ""), f"table={route.table}")
                for route in config.routes
                if route.dev == nic.netdev
            ]
            + [(to, gateway, "table=254") for to, gateway in _main(nic)]
        )
        rules = _values(profile, "routing-rule")
        assert len(rules) == sum(rule.dev == nic.netdev for rule in config.rules)
        assert {f"table {address.table}" for address in nic.addresses} <= {
            rule[rule.index("table") :] for rule in rules
        }
