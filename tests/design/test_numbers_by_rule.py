"""Numbers by rule: names, router ids, links, route distinguishers and targets, loopbacks of VRFs, slices of servers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from railweave.errors import InputError
from railweave.model.config.naming import named
from railweave.model.device.build import device_config
from railweave.outputs.folder.designing import design_file
from tests.conftest import EXAMPLES, ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.model.network.model import Network


def _lab(tmp_path: Path, *changes: tuple[str, str]) -> Network:
    text = (EXAMPLES / "multitenancy-lab.yaml").read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = tmp_path / "lab.yaml"
    file.write_text(text, encoding="utf-8")
    return design_file(file)[0]


def test_names_by_sums() -> None:
    assert named("leaf{stripe_number*2+leaf-2:02d}", stripe_number=3, leaf=1) == "leaf05"
    assert named("{stripe}-leaf{leaf}", stripe="row", leaf=12) == "row-leaf12"
    with pytest.raises(KeyError):
        named("leaf{rack+1}", leaf=1)
    with pytest.raises(ValueError, match="below 0"):
        named("leaf{leaf-3}", leaf=1)


def test_numbers_follow_the_rules(tmp_path: Path) -> None:
    network = _lab(tmp_path)
    assert [(one.name, one.router_id) for one in network.switches] == [
        ("gpu-leaf01", "10.0.0.11"),
        ("gpu-leaf02", "10.0.0.12"),
        ("gpu-leaf03", "10.0.0.13"),
        ("gpu-leaf04", "10.0.0.14"),
        ("gpu-spine01", "10.0.0.1"),
        ("gpu-spine02", "10.0.0.2"),
    ]
    vrfs = device_config(network, "gpu-leaf03").vrfs
    assert [one.name for one in vrfs] == ["tenant-1", "tenant-2", "tenant-3", "tenant-4"]
    third = vrfs[2]
    assert (third.route_distinguisher, third.import_targets) == ("10.0.0.13:300", ("target:64512:300",))
    assert (third.loopbacks, third.unit) == (("10.200.3.3/32", "fd00:200:3::3/128"), 3)
    assert third.prefixes == ("10.103.11.0/24", "fd00:10:3:b::/64")


def test_a_pool_of_links_is_used_up(tmp_path: Path) -> None:
    network = _lab(tmp_path)
    links = [cable for cable in network.cables if cable.kind == "fabric"]
    assert len(links) == 32
    used = sorted(int(end.address.rpartition(".")[2]) for cable in links for end in (cable.a, cable.b))
    assert used == list(range(64))
    assert (links[0].a.address, links[0].b.address) == ("10.0.1.1", "10.0.1.0")  # by its override
    with pytest.raises(InputError, match=r"10\.0\.1\.0/27 has 32 addresses, but 32 links need 64"):
        _lab(tmp_path, ("10.0.1.0/26", "10.0.1.0/27"))


def test_pairs_of_links_stay_when_a_spine_goes_and_comes(tmp_path: Path) -> None:
    text = (EXAMPLES / "multitenancy-lab.yaml").read_text(encoding="utf-8").replace("10.0.1.0/26", "10.0.1.0/25")
    text = (
        text.partition("overrides:")[0]
        .replace("links_per_spine: 4", "links_per_spine: 4, oversubscription: 2")
        .replace('spine: "10.0.0.[1-2]"', 'spine: "10.0.0.[1-3]"')
    )
    file = tmp_path / "lab.yaml"
    seen: list[dict[str, str]] = []
    for spines in ("[one, two]", "[two]", "[two, three]"):
        file.write_text(text.replace("spines: 2", f"spines: {spines}"), encoding="utf-8")
        network, lock = design_file(file)[:2]
        file.with_suffix(".lock").write_text(lock.to_text(), encoding="utf-8")
        seen.append({cable.name: cable.a.address for cable in network.cables if cable.kind == "fabric"})
    for name in seen[0].keys() & seen[1].keys():
        assert seen[0][name] == seen[1][name]
    assert len(set(seen[2].values())) == len(seen[2])


def test_links_by_a_formula(tmp_path: Path) -> None:
    formula = 'fabric_link: "10.0.1.{leaf*16+spine*8+link*2-26}/31"'
    network = _lab(
        tmp_path, ("fabric_links_by: cable", formula), ("10.0.1.0/26", "10.0.0.0/23"), ("10.0.1.", "10.0.1.")
    )
    by_name = {(one.a.device, one.b.device): one for one in network.cables if one.kind == "fabric"}
    last = by_name["gpu-leaf04", "gpu-spine02"]
    assert (last.a.address, last.b.address, last.prefix_length) == ("10.0.1.62", "10.0.1.63", 31)


def test_slices_of_two_gpus(tmp_path: Path) -> None:
    network = _lab(tmp_path, ("gpus: 1}", 'gpus: 2, name: "quarter-{slice}"}'))
    own = {f"{nic.name} {nic.tenant}" for server in network.servers for nic in server.nics}
    assert own == {f"gpu{gpu}_eth quarter-{gpu // 2 + 1}" for gpu in range(8)}


def test_a_tenant_with_rules_of_its_own(tmp_path: Path) -> None:
    own = 'tenants: {storage: {members: ["H100-[01-04]:gpu7_eth"], route_distinguisher: "65000:{leaf*10+tenant}", loopbacks: []}}'
    other = 'tenants: {storage: {members: ["H100-[01-04]:gpu7_eth"], loopbacks: ["10.201.0.{leaf}/32"]}}'
    slices = 'tenant_slices: {servers: ["H100-[01-04]"], gpus: 1}'
    vrf = device_config(_lab(tmp_path, (slices, own)), "gpu-leaf02").vrfs[0]
    assert (vrf.route_distinguisher, vrf.loopbacks, vrf.unit) == ("65000:21", (), None)
    vrf = device_config(_lab(tmp_path, (slices, other)), "gpu-leaf02").vrfs[0]
    assert (vrf.loopbacks, vrf.route_distinguisher) == (("10.201.0.2/32",), "10.0.0.12:100")


def test_the_formula_of_the_page_gives_each_link_its_pair(tmp_path: Path) -> None:
    """docs/examples.md offers it for this lab, which has four links to each spine."""
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    formula = re.search(r'fabric_link: "[^"]+"', page)
    assert formula
    own = "addresses: {gpu-leaf01: 10.0.1.1/31, gpu-spine01: 10.0.1.0/31}"
    network = _lab(
        tmp_path,
        ("fabric_links_by: cable", formula[0]),
        ("10.0.1.0/26", "10.1.0.0/16"),
        (own, own.replace("10.0.1", "10.1.1")),
    )
    pairs = [one.a.address for one in network.cables if one.kind == "fabric"]
    assert len(set(pairs)) == len(pairs) == 32


def test_a_factor_may_be_as_long_as_a_route_target(tmp_path: Path) -> None:
    network = _lab(tmp_path, ("64512:{tenant*100}", '"64512:{tenant*100000+4000000000}"'))
    assert [one.route_target for one in network.fabrics[0].tenants][:2] == [
        "target:64512:4000100000",
        "target:64512:4000200000",
    ]


@pytest.mark.parametrize("line", ['loopbacks: "fd00:99::/64"', 'loopback_lists: {spine: "fd00:fffe::[1-2]"}'])
def test_ipv6_loopbacks_are_refused_where_tunnels_are_of_ipv4(tmp_path: Path, line: str) -> None:
    with pytest.raises(InputError, match=r"lab.yaml:2\d: .*holds IPv6 loopbacks"):
        _lab(tmp_path, ("    overlay:\n", f"    overlay:\n      {line}\n"))
