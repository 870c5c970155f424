"""The topology for vendor images: its names agree with the configurations that go with it."""

from __future__ import annotations

import re

import pytest
import yaml

from railweave.errors import InputError
from railweave.live.lab.containerlab import images_of, topology
from tests.conftest import example


@pytest.mark.parametrize("name", ["h100-rlb", "mi300x-leaf-31", "mi300x-leaf-24"])
def test_every_end_of_a_link_is_an_interface_of_its_node(name: str) -> None:
    network = example(name)
    files = topology(network, {})
    top = yaml.safe_load(files[f"{name}.clab.yml"])["topology"]
    assert list(top["nodes"]) == [one.name for one in (*network.switches, *network.servers)]
    assert len(top["links"]) == len(network.cables)
    ends = [(end["node"], end["interface"]) for link in top["links"] for end in link["endpoints"]]
    assert len(set(ends)) == len(ends) == 2 * len(network.cables)
    for switch in network.switches:
        text = files[top["nodes"][switch.name]["startup-config"]]
        mine = [interface for node, interface in ends if node == switch.name]
        assert sorted(mine) == sorted(f"et-0/0/{place}" for place in range(len(mine)))
        assert not re.search(r"(?m)^    et-\d+/\d+/\d+:", text)  # images have no channels
        for interface in mine:
            assert f"    {interface} {{\n" in text
    macs = {
        (end["node"], end["interface"]): end["mac"]
        for link in top["links"]
        for end in link["endpoints"][:1]
        if "mac" in end
    }
    for server in network.servers:
        for nic in server.nics:
            assert macs[server.name, nic.netdev] == nic.mac


def test_frr_switches_get_frr_images_and_their_own_image_where_one_is_named() -> None:
    from dataclasses import replace

    network = example("h100-rlb")
    network = replace(network, switches=tuple(replace(one, nos="frr", release="10.3") for one in network.switches))
    files = topology(network, images_of(["linux=frr:mine", "server=debian:12"]))
    top = yaml.safe_load(files["h100-rlb.clab.yml"])["topology"]
    leaf = top["nodes"]["stripe1-leaf1"]
    assert (leaf["kind"], leaf["image"]) == ("linux", "frr:mine")
    assert "stripe1-leaf1/frr.conf:/etc/frr/frr.conf" in leaf["binds"]
    assert "ip link set eth1 master irb.2" in leaf["exec"]
    assert top["nodes"]["H100-01"]["image"] == "debian:12"
    assert "neighbor eth3 interface remote-as 4200000001" in files["stripe1-leaf1/frr.conf"]


@pytest.mark.parametrize("word", ["linux", "arista=x", "linux=a b"])
def test_an_image_of_nothing_is_refused(word: str) -> None:
    with pytest.raises(InputError, match="is no KIND=IMAGE"):
        images_of([word])
