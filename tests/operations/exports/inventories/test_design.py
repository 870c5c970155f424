"""The objects that a design has in NetBox, and the tables for its import pages. NetBox itself: ``make trial NAME=netbox``."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
import yaml

from railweave.errors import InputError
from railweave.model.network.model import Network
from railweave.operations.exports.inventories import design
from railweave.operations.exports.inventories.design import is_private, items, vrf_names
from railweave.operations.exports.inventories.equipment import cable_type, interface_type
from railweave.operations.exports.inventories.forms import files
from railweave.operations.exports.inventories.netbox import KINDS
from railweave.operations.exports.inventories.objects import Item, Reference, slug
from tests.conftest import SMALL, designed, example


def of_kind(name: str, kind: str) -> dict[tuple[str, ...], Item]:
    """The objects of a kind of an example, by key."""
    return {item.key: item for item in items(example(name)) if item.kind == kind}


@pytest.mark.parametrize("name", SMALL)
def test_every_object_comes_after_those_it_refers_to(name: str) -> None:
    order = [*KINDS]
    made: set[Reference] = set()
    for item in sorted(items(example(name)), key=lambda item: order.index(item.kind)):
        for value in item.fields.values():
            if isinstance(value, Reference):
                assert value in made, f"{item.kind} {item.name} refers to {value}"
        assert Reference(item.kind, item.key) not in made, f"twice: {item.kind} {item.name}"
        made.add(Reference(item.kind, item.key))


@pytest.mark.parametrize("name", SMALL)
def test_texts_fit_into_netbox(name: str) -> None:
    for item in items(example(name)):
        assert len(str(item.fields.get("description", ""))) <= 200
        assert len(str(item.fields.get("label", ""))) <= 100
        assert len(str(item.fields.get("slug", ""))) <= 100


@pytest.mark.parametrize("name", SMALL)
def test_each_link_is_a_cable_and_no_port_has_two(name: str) -> None:
    cables = of_kind(name, "cable")
    ports = [key[side : side + 2] for key in cables for side in (0, 2)]
    assert len(cables) == len(example(name).cables)
    assert len(ports) == len({*ports})


def test_a_channel_is_an_interface_with_the_type_of_its_cage() -> None:
    port = of_kind("h100-rlb", "interface")["stripe1-leaf1", "et-0/0/16:1"].fields
    assert port["type"] == "400gbase-x-osfp"
    assert port["speed"] == 400_000_000
    assert port["mtu"] == 9216
    assert port["description"] == "to H100-02 gpu0_eth; osfp-800g-2x400g-sr4, lanes 5-8"
    assert port["untagged_vlan"] == Reference("VLAN", ("h100-rlb backend", "2"))


def test_placeholder_addresses_are_left_out() -> None:
    network = example("h100-rlb")
    real = {nic.mac.upper() for server in network.servers for nic in server.nics if not nic.mac_is_placeholder}
    assert {key[2] for key in of_kind("h100-rlb", "MAC address")} == real
    servers = {server.name for server in network.servers}
    assigned = [item.fields["assigned_object_id"] for item in of_kind("h100-rlb", "IP address").values()]
    nics = [value for value in assigned if isinstance(value, Reference) and value.key[0] in servers]
    assert len(nics) == 4 * len(real) == 12  # a color each


def test_a_gateway_of_several_leaves_is_anycast() -> None:
    roles = {item.fields.get("role") for item in of_kind("aidc-three-fabrics", "IP address").values()}
    assert roles == {None, "loopback", "anycast"}


def test_tenants_are_vrfs() -> None:
    vrfs = of_kind("multitenancy-lab", "VRF")
    assert ("tenant-1",) in vrfs
    assert Reference("VRF", ("tenant-1",)) in [
        item.fields.get("vrf") for item in of_kind("multitenancy-lab", "prefix").values()
    ]


def test_the_names_of_vrfs_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def counted(network: Network) -> dict[tuple[str, str], str]:
        calls.append(network.name)
        return vrf_names(network)

    monkeypatch.setattr(design, "vrf_names", counted)
    assert any(item.kind == "VRF" for item in items(example("multitenancy-lab")))
    assert len(calls) == 1


def test_the_site_is_renamed() -> None:
    assert [item.key for item in items(example("h100-rlb"), site="osl2") if item.kind == "site"] == [("osl2",)]


def test_one_site_for_a_network_of_two_is_refused() -> None:
    with pytest.raises(InputError, match="the network has 2 sites: east, west"):
        items(example("dci-50km"), site="osl2")


def test_devices_have_their_place_in_the_rack() -> None:
    device = of_kind("three-vendors", "device")["fra1-h100-02",].fields
    assert (device["rack"], device["position"], device["face"]) == (Reference("rack", ("site1", "K1")), 9, "front")


def test_a_planned_server_is_planned(tmp_path: Path) -> None:
    text = Path("examples/mi300x-leaf-31.yaml").read_text() + "\nstatus: {host2: planned}\n"
    made = {(item.kind, item.key): item for item in items(designed(tmp_path, text)[0])}
    assert made["device", ("host2",)].fields["status"] == "planned"
    assert {item.fields["status"] for key, item in made.items() if key[0] == "cable" and key[1][0] == "host2"} == {
        "planned"
    }


def test_public_as_numbers_are_left_out() -> None:
    assert [asn for asn in (64511, 64512, 65534, 65535, 4_199_999_999, 4_200_000_000, 4_294_967_294, 4_294_967_295) if is_private(asn)] == [
        64512, 65534, 4_200_000_000, 4_294_967_294,
    ]  # fmt: skip


def test_types_of_interfaces_and_cables() -> None:
    assert interface_type("QSFP28", 100) == "100gbase-x-qsfp28"
    assert interface_type("OSFP", 200) == "other"
    optics = example("h100-rlb").catalog.optics
    assert cable_type(optics["osfp-800g-2x400g-dac"]) == "dac-passive"
    assert cable_type(optics["osfp-800g-2x400g-sr4"]) == "mmf-om4"
    assert cable_type(optics["osfp-800g-2x400g-dr4"]) == "smf"
    assert slug("Junos OS Evolved") == "junos-os-evolved"


def table(name: str, file: str) -> list[dict[str, str]]:
    """A table of an example's import files."""
    network = example(name)
    return list(csv.DictReader(io.StringIO(files(network, items(network))[file])))


def test_the_tables_have_the_columns_of_the_import_forms() -> None:
    network = example("three-vendors")
    heads = {name: text.partition("\n")[0] for name, text in files(network, items(network)).items()}
    assert heads["14-devices.csv"] == "name,role,manufacturer,device_type,platform,status,site,rack,position,face,tags"
    assert heads["17-cables.csv"] == (
        "side_a_device,side_a_type,side_a_name,side_b_device,side_b_type,side_b_name,type,status,label,length,length_unit,description,tags"
    )
    assert heads["18-ip-addresses.csv"] == "address,status,role,device,interface,is_primary,tags"


def test_rows_name_other_objects() -> None:
    (row,) = [
        row
        for row in table("h100-rlb", "15-interfaces.csv")
        if (row["device"], row["name"]) == ("stripe1-leaf1", "et-0/0/16:1")
    ]
    assert (row["vlan_group"], row["untagged_vlan"], row["mode"]) == ("h100-rlb backend", "2", "access")
    macs = table("h100-rlb", "16-mac-addresses.csv")
    assert macs[0] == {
        "mac_address": "A0:88:C2:3B:50:66",
        "device": "H100-01",
        "interface": "gpu0_eth",
        "is_primary": "true",
        "tags": "railweave",
    }


def test_device_types_have_whole_ports() -> None:
    network = example("three-vendors")
    text = files(network, items(network))["device-types/arista/arista-7060x6-64pe.yaml"]
    kind = yaml.safe_load(text)
    assert (kind["manufacturer"], kind["u_height"]) == ("Arista", 2)
    assert [port["name"] for port in kind["interfaces"]][:2] == ["Management1", "Ethernet1/1"]
    assert sum(port["type"] == "800gbase-x-osfp" for port in kind["interfaces"]) == 64
