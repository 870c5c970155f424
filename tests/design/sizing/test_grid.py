"""Sizing by brute force: the fewest stripes, the fewest spines, ports and ratios kept, over sizes, ratios and models."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import pytest

from railweave.design.sizing.shapes import size
from railweave.design.sizing.size import LEAST_COLORS, SHAPES, Ports, Size, SizeRequest, spread
from railweave.model.catalog import catalog

GPUS = (
    8, 9, 13, 16, 63, 64, 65, 100, 129, 255, 256, 512, 513, 777, 1000, 1023, 1024, 1025, 1544, 2048, 3001, 4096, 4608,
    5000, 8191, 8192, 8193, 12345, 16384, 20001, 24576, 32767, 32768,
)  # fmt: skip
RATIOS = (1, 1.1, 1.5, 2, 3, 4)
SERVERS = ("h100-8gpu-cx7", "dgx-a100-aidc", "dgx-h100-2gpu")  # 400G, 200G, two rails


def fits(ports: Ports, switch: str) -> tuple[int, int, int]:
    """Links to servers and uplinks that a leaf has ports for, and the widest group of next hops: from the catalog alone."""
    model = catalog().switches[switch]
    modes = model.ports[0].modes()
    channels = next(mode.channels for mode in modes if mode.speed_gbps == ports.speed_gbps)
    assert ports.total == model.ports[0].count * channels
    assert ports.up + ports.down_built <= ports.total
    return ports.down_built, ports.up, model.limits.ecmp_members or ports.total


@cache
def colors_share(uplinks: int) -> bool:
    """Whether some number of path colors up to eight shares the uplinks equally, and is at least four where it can be."""
    return any(uplinks % count == 0 for count in range(min(uplinks, LEAST_COLORS), 9))


@cache
def fewest(need: int, most: int, links: int, *, colored: bool = True) -> int | None:
    """Upper switches, at least two, by trying every number of them and of links to each."""
    for count in range(min(2, most), most + 1):
        for each in range(1, min(links, 64) + 1):
            if need <= count * each <= most and (not colored or colors_share(count * each)):
                return count
    return None


def check_ports(found: Size, switch: str) -> None:
    """No switch has more links than ports, groups than next hops, or servers than its uplinks carry."""
    down, up, group = fits(found.ports, switch)
    per_leaf = found.servers_per_stripe * found.ports.rails // found.leaves_per_stripe
    assert found.stripes * found.servers_per_stripe >= found.servers > (found.stripes - 1) * found.servers_per_stripe
    assert found.leaf_used == per_leaf + found.uplinks <= found.ports.total
    assert found.spine_used <= found.ports.total
    assert found.top_used <= found.ports.total
    assert found.free_server_ports >= found.spare_leaf_ports >= 0
    if found.spines:
        assert per_leaf <= down
        assert found.uplinks <= min(up, group)
        assert Fraction(per_leaf, found.uplinks) <= Fraction(str(found.wanted.oversubscription))
        assert colors_share(found.uplinks)


def least_stripes(servers: int, ports: Ports, ratio: Fraction) -> int:
    """The fewest stripes that hold the servers, none with more than a leaf has ports and uplinks for."""
    full = max(each for each in range(ports.down_built + 1) if math.ceil(each / ratio) <= ports.up)
    return -(-servers // full)


@pytest.mark.parametrize("growth", [1, 2])
@pytest.mark.parametrize("server", SERVERS)
def test_fewest_stripes_and_spines_of_two_tiers_and_planes(server: str, growth: float) -> None:
    checked = 0
    for switch in catalog().switches:
        for ratio in RATIOS:
            for gpus in GPUS:
                wanted = SizeRequest(gpus, server, switch, ratio, growth)
                for shape in ("two-tier", "rail-planes"):
                    try:
                        found = size(catalog(), wanted, shape)
                    except ValueError:  # no ports of the NICs' speed
                        continue
                    if not isinstance(found, Size):
                        continue
                    check_ports(found, switch)
                    if not found.spines:
                        assert found.servers * growth <= found.ports.total
                        continue
                    exact = Fraction(str(ratio))
                    later = least_stripes(found.servers * int(growth), found.ports, exact)
                    each = -(-found.servers * int(growth) // later)
                    if growth == 1:
                        assert (found.stripes, found.servers_per_stripe) == (later, each)
                    leaves = later * (found.ports.rails if shape == "two-tier" else 1)
                    need = math.ceil(each / exact)
                    assert found.spines == fewest(need, found.ports.up, found.ports.total // leaves), (wanted, shape)
                    assert leaves * found.links_per_spine <= found.ports.total
                    checked += 1
    assert checked > 500


@pytest.mark.parametrize("ratio", [1, 2, 3])
def test_fewest_switches_above_the_leaves_of_pods(ratio: float) -> None:
    """Every size of pods, number of spines, links to each, and super-spines, tried."""
    for switch in ("qfx5240-64od", "qfx5220-32cd", "ptx10008-lc1201"):
        server = "dgx-a100-aidc" if switch == "qfx5220-32cd" else "h100-8gpu-cx7"
        for gpus in (1544, 4608, 5000, 8193, 12345, 32768):
            found = size(catalog(), SizeRequest(gpus, server, switch, ratio), "super-spine")
            if not isinstance(found, Size):
                continue
            check_ports(found, switch)
            ports = found.ports
            half, need = ports.total // 2, math.ceil(found.servers_per_stripe / ratio)
            totals: list[int] = []
            for per_pod in range(1, half // ports.rails + 1):
                pods = -(-found.stripes // per_pod)
                spines = fewest(need, ports.up, half // (per_pod * ports.rails))
                if spines is None or pods > ports.total:
                    continue
                for links in range(1, min(half // (per_pod * ports.rails), 64) + 1):
                    if need <= spines * links <= ports.up and colors_share(spines * links):
                        below = per_pod * ports.rails * links
                        above = fewest(below, min(half, ports.group), ports.total // pods, colored=False)
                        if above is not None:
                            totals.append(spines * pods + spines * above)
            assert found.spine_switches + found.super_spine_switches == min(totals), (switch, gpus)
            assert found.spine_uplinks >= found.stripes_per_pod * ports.rails * found.links_per_spine


def test_path_colors_cost_a_spine_only_where_they_could_not_share_uplinks_equally() -> None:
    for need in range(1, 65):
        for links in (1, 2, 3, 5, 8, 16, 64):
            count, each = spread(need, 64, links)
            plain = fewest(need, 64, links, colored=False)
            assert plain is not None
            assert count >= plain
            if count > plain:
                ways = [plain * n for n in range(1, links + 1) if need <= plain * n <= 64]
                assert not any(colors_share(way) for way in ways)
            assert need <= count * each <= 64


def test_a_ratio_is_exact() -> None:
    """33 servers at 1.1:1 need 30 uplinks and 10 servers grown 1.1 times are 11; in binary fractions neither holds."""
    found = size(catalog(), SizeRequest(33 * 8, "h100-8gpu-cx7", "qfx5240-64od", 1.1), "two-tier")
    assert isinstance(found, Size)
    assert found.servers_per_stripe == 33
    assert found.uplinks == 30
    assert SizeRequest(80, "h100-8gpu-cx7", "qfx5240-64od", growth=1.1).grown(10) == 11


@pytest.mark.parametrize("gpus", [8, 32768])
def test_the_shapes_of_a_size_are_all_answered(gpus: int) -> None:
    for shape in SHAPES:
        found = size(catalog(), SizeRequest(gpus, "h100-8gpu-cx7", "qfx5240-64od"), shape)
        assert found.shape == shape
