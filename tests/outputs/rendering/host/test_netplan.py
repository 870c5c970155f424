"""netplan.yaml: what the sources say, and what netplan makes of it."""

from __future__ import annotations

import csv
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from railweave.analysis.checks import validators
from railweave.outputs.rendering.host.netplan import document, netplan_yaml
from tests.outputs.rendering.host.servers import config, every

FACTS = Path(__file__).parent / "facts"
STRIPES = {"H100-01": 1, "H100-03": 2}


def ethernets(name: str, host: str) -> dict[str, Any]:
    return yaml.safe_load(netplan_yaml(config(name, host)))["network"]["ethernets"]


@pytest.mark.parametrize("scheme", ["24", "31"])
@pytest.mark.parametrize("host", ["host1", "host2"])
def test_thor2_guide(scheme: str, host: str) -> None:
    """Sections 2.4.1.1, 2.4.1.2, 2.4.2.1 and 2.4.2.2: the whole file as a YAML value, scanning errors mended."""
    wanted: dict[str, Any] = {}
    with (FACTS / "thor2_netplan.csv").open() as rows:
        for row in csv.DictReader(rows):
            if (row["scheme"], row["host"]) != (scheme, host):
                continue
            table = int(row["table"])
            route: dict[str, Any] = {"to": "default", "via": row["via"], "table": table}
            rules: list[dict[str, Any]] = [{"from": row["from"], "table": table}]
            if scheme == "31":
                route["scope"] = "global"
                rules[0]["priority"] = 0
                rules.append({"to": row["to"], "table": table, "priority": 1})
            wanted[row["nic"]] = {
                "mtu": 9000,
                "ignore-carrier": True,  # ours: without it networkd drops all of this with the carrier
                "addresses": [row["address"]],
                "routes": [route],
                "routing-policy": rules,
            }
    assert len(wanted) == 8
    text = netplan_yaml(config(f"mi300x-leaf-{scheme}", host))
    assert yaml.safe_load(text) == {"network": {"version": 2, "renderer": "networkd", "ethernets": wanted}}


@pytest.mark.parametrize(("host", "stripe"), STRIPES.items())
def test_rlb_tables_8_to_10(host: str, stripe: int) -> None:
    """Table 8: numbers; Table 9: a prefix route and a default route by ::1 each; Table 10: rules by prefix.

    Errata applied: gpu3_subnet4's gateway is on leaf 4, and the prefixes begin with fc00.
    """
    found = ethernets("h100-rlb", host)
    assert list(found) == [f"gpu{gpu}_eth" for gpu in range(8)]
    table = 10000
    for gpu in range(8):
        nic = found[f"gpu{gpu}_eth"]
        routes = {(one["to"], one["table"]): one for one in nic["routes"]}
        rules = {one["from"]: one["table"] for one in nic["routing-policy"]}
        assert len(routes) == len(nic["routes"]) == 8
        assert len(rules) == len(nic["routing-policy"]) == 4
        for path in range(1, 5):
            prefix = f"fc00:{stripe}:{gpu + 1}:{path}::"
            assert routes["default", table]["via"] == f"{prefix}1"
            assert "via" not in routes[f"{prefix}/64", table]
            assert rules[f"{prefix}/64"] == table
            table += 1
    assert table == 10032


def test_slaac_nics() -> None:
    """RLB document, "Server SLAAC Configuration": no DHCPv6, no IPv4; router advertisements are accepted."""
    for nic in ethernets("h100-rlb", "H100-01").values():
        assert (nic["dhcp4"], nic["dhcp6"], nic["accept-ra"], nic["mtu"]) == (False, False, True, 9000)
        assert nic["link-local"] == ["ipv6"]
        assert "addresses" not in nic


def test_kernel_handles_advertisements() -> None:
    """The NICs are not networkd's then, and the file says why."""
    text = netplan_yaml(config("h100-rlb", "H100-01", "kernel"))
    assert yaml.safe_load(text) == {"network": {"version": 2, "renderer": "networkd"}}
    assert "05-railweave-unmanaged.network" in text


def test_printed_as_meant() -> None:
    for one in every():
        assert yaml.safe_load(netplan_yaml(one)) == document(one)


def test_netplan_accepts_every_server(tmp_path: Path) -> None:
    tool = validators.find(None)
    if isinstance(tool, str):
        pytest.skip(tool)
    for number, server in enumerate(every()):
        root = tmp_path / str(number)
        assert tool.generate(netplan_yaml(server), root) == [], server.name
        for nic in server.nics:
            text = (root / f"run/systemd/network/10-netplan-{nic.netdev}.network").read_text()
            sections = _sections(text)
            routes = [(s.get("Destination"), s.get("Gateway"), int(s["Table"])) for k, s in sections if k == "Route"]
            family = "::/0" if nic.slaac else "0.0.0.0/0"
            wanted = [
                (family if one.to == "default" else one.to, one.via, one.table)
                for one in server.routes
                if one.dev == nic.netdev
            ]
            assert routes == wanted
            rules = [(s.get("From"), s.get("To"), int(s["Table"])) for k, s in sections if k == "RoutingPolicyRule"]
            assert rules == [(one.from_, one.to, one.table) for one in server.rules if one.dev == nic.netdev]
            merged = {
                key: value
                for kind, section in sections
                if kind in {"Link", "Network"}
                for key, value in section.items()
            }
            assert merged["MTUBytes"] == "9000"
            assert merged.get("IPv6AcceptRA") == ("yes" if nic.slaac else None)
            assert merged["ConfigureWithoutCarrier"] == "yes"


def _sections(text: str) -> list[tuple[str, dict[str, str]]]:
    """The sections of a .network file, of which several may have one name."""
    found: list[tuple[str, dict[str, str]]] = []
    for part in text.split("\n["):
        name, _, body = part.removeprefix("[").partition("]")
        parser = ConfigParser(interpolation=None, strict=False)
        parser.optionxform = str
        parser.read_string(f"[x]{body}")
        found.append((name, dict(parser["x"])))
    return found
