"""What only some ports, sessions or objects have is not read as that of all: its lines are not understood."""

from __future__ import annotations

import re
from functools import cache

import pytest

from railweave.model.catalog import in_force
from railweave.model.device.build import device_config
from railweave.model.device.reading import Reading
from railweave.systems import system
from tests.retarget import retargeted
from tests.systems.test_reads_shut import BGP, FILES, changed, reader


@cache
def text_of(nos: str, name: str) -> str:
    network = retargeted(name, nos)
    with in_force(network.catalog):
        return system(nos).files(device_config(network, network.switches[0].name, nos))[FILES[nos]]


def read(nos: str, text: str) -> Reading:
    return reader(nos).read({FILES[nos]: text})


def unknown(reading: Reading) -> set[str]:
    return {statement.path for statement in reading.not_understood}


def test_bfd_of_some_isis_ports_is_not_understood() -> None:
    text = text_of("frr", "dci-50km")
    ports = re.findall(r"(?m)^interface (et-\S+)\n(?: .*\n)*? isis bfd\n isis bfd profile fabric$", text)
    assert len(ports) > 1
    every = text.replace(" isis bfd\n isis bfd profile fabric\n", "")
    some = text.replace(" isis bfd\n isis bfd profile fabric\n", "", 1)
    bfd = [isis.bfd for each in (text, some, every) if (isis := read("frr", each).config.isis)]
    assert (bfd[0] is None, bfd[1:]) == (False, [None, None])
    left = {path for path in unknown(read("frr", some)) if "isis bfd" in path}
    assert left == {
        f"interface {port} / {line}" for port in ports[1:] for line in ("isis bfd", "isis bfd profile fabric")
    }
    assert unknown(read("frr", text)) == unknown(read("frr", every)) == set()


MAP = "address-family l2vpn evpn / neighbor overlay route-map evpn-to-neighbors out"
NESTED = "peer-group overlay / address-family l2vpn evpn / route-map evpn-to-neighbors out"


@pytest.mark.parametrize(
    ("nos", "line", "change"),
    [
        ("frr", MAP, "route-map evpn-to-neighbors permit 20 / set local-preference 50"),
        ("frr", MAP, "route-map evpn-to-neighbors permit 20 / match ip address prefix-list other"),
        ("frr", MAP, "route-map evpn-to-neighbors deny 5"),
        ("frr", MAP, f"{BGP}address-family l2vpn evpn / neighbor 10.255.0.6 route-map other out"),
        ("dell_sonic", NESTED, "route-map evpn-to-neighbors permit 20 / set local-preference 50"),
        ("dell_sonic", NESTED, "route-map evpn-to-neighbors deny 5"),
        ("dell_sonic", NESTED, f"{BGP}neighbor 10.255.0.6 / address-family l2vpn evpn / route-map other out"),
    ],
)
def test_an_export_of_evpn_that_routing_does_not_know_is_not_understood(nos: str, line: str, change: str) -> None:
    assert f"{BGP}{line}" not in unknown(reader(nos).read(changed(nos)))
    reading = reader(nos).read(changed(nos, change))
    assert f"{BGP}{line}" in unknown(reading)
    assert reading.config.overlay is not None
    assert reading.config.overlay.from_spine == ""


OBJECT = "ars object OTHER\n mode packet-quality\nexit\n!\n"


def test_an_object_of_adaptive_routing_that_no_route_map_names_does_not_count() -> None:
    text = text_of("dell_sonic", "h100-rlb")
    base = read("dell_sonic", text)
    assert base.config.balancing.group_mode == "dlb-flowlet"
    more = text.replace("ars object ROCE\n", f"{OBJECT}ars object ROCE\n")
    for each in (more, more.replace(OBJECT, "").replace("ars bind profile", f"{OBJECT}ars bind profile")):
        reading = read("dell_sonic", each)
        assert reading.config == base.config
        assert unknown(reading) - unknown(base) == {"ars object OTHER / mode packet-quality"}


def test_objects_of_adaptive_routing_that_differ_are_not_all_understood() -> None:
    text = text_of("dell_sonic", "h100-rlb").replace("ars object ROCE\n", f"{OBJECT}ars object ROCE\n")
    at = text.index(" set ars-object ROCE")
    reading = read("dell_sonic", text[:at] + text[at:].replace("ars-object ROCE", "ars-object OTHER", 1))
    assert "ars object OTHER / mode packet-quality" in unknown(reading)


@pytest.mark.parametrize("port", ["eth0", "mgmt0"])
def test_a_shut_management_port_of_frr_is_not_understood(port: str) -> None:
    lines = (f"interface {port} / description management", f"interface {port} / ip address 192.0.2.9/24")
    reading = reader("frr").read(
        changed("frr", *lines, f"interface {port} / shutdown", f"interface {port} / ip access-group a in")
    )
    assert {path for path in unknown(reading) if port in path} == {
        f"interface {port} / shutdown",
        f"interface {port} / ip access-group a in",
    }


def test_evpn_of_eos_without_extended_communities_is_not_understood() -> None:
    activated = f"{BGP}address-family evpn / neighbor overlay activate"
    line = "neighbor overlay send-community"
    assert activated not in unknown(reader("eos").read(changed("eos")))
    assert activated in unknown(reader("eos").read(changed("eos", f"- {line}")))
    for kind in (" extended", " standard extended", " standard extended large"):
        assert unknown(reader("eos").read(changed("eos", f"- {line}", f"{BGP}{line}{kind}"))) == set()
    for kind in (" standard", " large"):
        left = unknown(reader("eos").read(changed("eos", f"- {line}", f"{BGP}{line}{kind}")))
        assert {activated, f"{BGP}{line}{kind}"} <= left
