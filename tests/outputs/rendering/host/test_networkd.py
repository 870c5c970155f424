"""systemd-networkd, fed from netplan's output, makes exactly what was designed, and the kernel keeps it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from railweave.analysis.checks import validators
from railweave.model.device.host_model import HostConfig
from railweave.outputs.rendering.host import files
from tests.netns import Server, needs_root, server, until, usable
from tests.outputs.rendering.host.networkd import Networkd, needs_networkd, networkd
from tests.outputs.rendering.host.servers import (
    addresses,
    check_as_planned,
    check_rules,
    check_way_out,
    config,
    macs,
    planned_addresses,
    planned_routes,
    planned_rules,
    routes,
    rules,
)

pytestmark = [needs_root, needs_networkd]


def generated(one: HostConfig, root: Path) -> Path:
    """The folder of netplan's output. The file of the last NIC does not ignore the carrier: see ``flap``."""
    tool = validators.find(None)
    if isinstance(tool, str):
        pytest.skip(tool)
    assert tool.generate(files(one)["netplan.yaml"], root) == []
    folder = root / "run/systemd/network"
    last = folder / f"10-netplan-{one.nics[-1].netdev}.network"
    text = last.read_text()
    assert "ConfigureWithoutCarrier=yes\n" in text
    last.write_text(text.replace("ConfigureWithoutCarrier=yes\n", ""))
    return folder


def advertise(host: Server, one: HostConfig) -> None:
    """Advertise to every NIC until it has taken it: networkd listens from when it has a link-local address on."""
    for nic in one.nics:
        prefixes = [address.prefix for address in nic.addresses]

        def taken(nic: str = nic.netdev, prefixes: list[str] = prefixes) -> bool:
            host.advertise(nic, prefixes, settle=False)
            return all(usable(host, nic, "to", prefix) for prefix in prefixes)

        until(taken, f"{nic.netdev} has taken an advertisement")


@pytest.mark.parametrize("name", ["H100-01", "H100-03"])
def test_slaac(name: str, tmp_path: Path) -> None:
    one = config("h100-rlb", name)
    network = generated(one, tmp_path)
    with server(macs(one), macs=macs(one)) as host, networkd(host, network, tmp_path / "log") as daemon:
        until(lambda: rules(host) == planned_rules(one) and routes(host) == planned_routes(one), "routes and rules")
        advertise(host, one)
        check_as_planned(host, one)
        check_way_out(host, one, "fc00:9:9:9::1")
        assert {link["mtu"] for link in host.ip("link", "show") if link["ifname"] != "lo"} == {9000}
        assert not daemon.said("Unknown key")
        for nic in one.nics:  # the reason why sysctl.conf says nothing of it in this mode
            assert host.run("cat", f"/proc/sys/net/ipv6/conf/{nic.netdev}/accept_ra").stdout == "0\n"
        flap(host, one, daemon)


@pytest.mark.parametrize("scheme", ["24", "31"])
def test_static(scheme: str, tmp_path: Path) -> None:
    one = config(f"mi300x-leaf-{scheme}", "host1")
    network = generated(one, tmp_path)
    with server(macs(one)) as host, networkd(host, network, tmp_path / "log") as daemon:
        until(lambda: addresses(host) == planned_addresses(one) and routes(host) == planned_routes(one), "all is set")
        check_rules(host, one)
        check_way_out(host, one, "198.51.100.1" if scheme == "24" else "1.1.199.1")
        flap(host, one, daemon)


def flap(host: Server, one: HostConfig, daemon: Networkd) -> None:
    """Lose and regain the carrier of all NICs but the last: they keep everything, or queue pairs would lose their GIDs.

    The last NIC is the proof that networkd would have taken it: its file does not ignore the carrier (``generated``), and it is
    the last to lose it. With its address, table and rules gone, networkd is done with the others as well.
    """
    *kept, control = one.nics
    for nic in one.nics:
        host.leaf.run("ip", "link", "set", nic.netdev, "down")
        until(lambda nic=nic: daemon.said(f"{nic.netdev}: Lost carrier"), f"networkd has seen {nic.netdev}'s loss")
    tables = {address.table for address in control.addresses}
    left = replace(
        one,
        nics=tuple(kept),
        routes=tuple(route for route in one.routes if route.dev != control.netdev),
        rules=tuple(rule for rule in one.rules if rule.table not in tables),
    )
    until(
        lambda: not addresses(host)[control.netdev] and len(rules(host)) == len(left.rules), "the last NIC has nothing"
    )
    check_as_planned(host, left)
    for nic in kept:
        host.leaf.run("ip", "link", "set", nic.netdev, "up")
        until(
            lambda nic=nic: daemon.said(f"{nic.netdev}: Gained carrier") > 1, f"networkd has seen {nic.netdev}'s return"
        )
    check_as_planned(host, left)


CATCH_ALL = "[Match]\nName=*\n[Network]\nAddress=192.0.2.1/24\nIPv6AcceptRA=yes\n"


def prepared(one: HostConfig, folder: Path, *names: str) -> Path:
    """Some of a server's files, and a .network file that matches every interface, as an operator may have one."""
    folder.mkdir()
    for name in names:
        (folder / name).write_text(files(one)[name])
    (folder / "50-all.network").write_text(CATCH_ALL)
    return folder


def added(host: Server, nic: str) -> None:
    """Give the server one more interface, and wait until networkd has configured it; it clears up at such moments."""
    host.run("ip", "link", "add", nic, "type", "veth", "peer", "name", f"{nic}p", "netns", host.leaf.name)
    host.leaf.run("ip", "link", "set", f"{nic}p", "up")
    until(lambda: addresses(host)[nic] >= {"192.0.2.1"}, f"networkd has configured {nic}")


def test_networkd_leaves_the_kernels_nics_alone(tmp_path: Path) -> None:
    """In kernel mode networkd may run for the management interface, and restart at any time."""
    one = config("h100-rlb", "H100-01", "kernel")
    script = tmp_path / "net-setup.sh"
    script.write_text(files(one)["net-setup.sh"])
    whole = prepared(one, tmp_path / "whole", "05-railweave-unmanaged.network", "networkd.conf")
    with server(macs(one), macs=macs(one)) as host:
        host.run("bash", script, env={"RAILWEAVE_RUN": str(tmp_path / "run")})
        for nic in one.nics:
            host.advertise(nic.netdev, [address.prefix for address in nic.addresses])
        for turn in ("start", "restart"):
            with networkd(host, whole, tmp_path / turn) as daemon:
                added(host, turn)
                check_as_planned(host, one)
                assert not daemon.said("Unknown")
        for nic in one.nics:
            assert host.run("cat", f"/proc/sys/net/ipv6/conf/{nic.netdev}/accept_ra").stdout == "1\n"


@pytest.mark.parametrize("missing", ["networkd.conf", "05-railweave-unmanaged.network"])
def test_both_files_are_needed_for_that(missing: str, tmp_path: Path) -> None:
    one = config("h100-rlb", "H100-01", "kernel")
    script = tmp_path / "net-setup.sh"
    script.write_text(files(one)["net-setup.sh"])
    names = {"networkd.conf", "05-railweave-unmanaged.network"} - {missing}
    with server(macs(one), macs=macs(one)) as host:
        host.run("bash", script, env={"RAILWEAVE_RUN": str(tmp_path / "run")})
        with networkd(host, prepared(one, tmp_path / "some", *names), tmp_path / "log"):
            added(host, "mgmt0")
            if missing == "networkd.conf":
                until(lambda: not rules(host), "networkd has removed the rules")
            else:
                until(lambda: "192.0.2.1" in addresses(host)["gpu0_eth"], "networkd has taken a NIC")
