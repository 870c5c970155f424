"""What FRR 10.3 and 10.6 print of configurations that railweave gave them: no difference, and one where a line was changed.

``printed/NAME.given.txt`` is a configuration as it was loaded, ``NAME.printed.txt`` what ``show running-config`` then said.
"""

from __future__ import annotations

from functools import cache

import pytest

from railweave.analysis.checks.causes import causes
from railweave.model.catalog import catalog
from railweave.model.config.compare import compare
from railweave.model.device.fields import differences
from railweave.systems import system
from railweave.systems.protocol import Reader
from tests.conftest import ROOT

FOLDER = ROOT / "tests" / "systems" / "frr" / "printed"
NAMES = sorted(path.name.removesuffix(".given.txt") for path in FOLDER.glob("*.given.txt"))
FILE = "frr.conf"


@cache
def pair(name: str) -> tuple[str, str]:
    given, printed = ((FOLDER / f"{name}.{kind}.txt").read_text(encoding="utf-8") for kind in ("given", "printed"))
    return given, printed


def reader() -> Reader:
    found = system("frr").reader
    assert found is not None
    return found


@pytest.mark.parametrize("name", NAMES)
def test_what_is_printed_is_what_was_given(name: str) -> None:
    given, printed = pair(name)
    assert given != printed
    change = compare(reader().parsed(FILE, given), reader().parsed(FILE, printed))
    assert [(one.kind, one.path) for one in change.steps] == []


@pytest.mark.parametrize("name", NAMES)
def test_it_reads_as_the_same_configuration(name: str) -> None:
    given, printed = (reader().read({FILE: text}).config for text in pair(name))
    unsaid = catalog().systems["frr"].reads.unsaid
    assert [
        one for one in differences(given, printed) if one.field not in unsaid and not one.field.endswith(".order")
    ] == []


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("path-colors", "neighbor et-0-0 remote-as 4200000001", "neighbor et-0-0 remote-as 65001", "remote-as"),
        ("path-colors", "  neighbor spine-red route-map from-red in\n", "", "route-map"),
        ("path-colors", "route-map to-spines deny 50", "route-map to-spines permit 50", "route-map to-spines"),
        ("path-colors", " neighbor spine-red bfd\n neighbor spine-red bfd profile fabric\n", "", "bfd"),
        ("path-colors", "  transmit-interval 1000\n", "  transmit-interval 50\n", "transmit-interval"),
        ("path-colors", " no ipv6 nd suppress-ra\nexit\n!\ninterface lo", "exit\n!\ninterface lo", "suppress-ra"),
        ("path-colors", "ipv6 nd prefix fc00:1:1:2::/64", "ipv6 nd prefix fc00:1:1:2::/64 600 300", "prefix"),
        ("overlay-spine", "  neighbor overlay activate\n", "", "activate"),
        ("tenants-10.6", " vni 20001\n", " vni 20009\n", "vni"),
        ("isis", " isis network point-to-point\n", "", "point-to-point"),
    ],
)  # fmt: skip
def test_a_line_that_was_changed_is_found(name: str, old: str, new: str, said: str) -> None:
    given, printed = pair(name)
    assert old in printed
    text = printed.replace(old, new, 1)
    found, _ = causes(reader(), FILE, {FILE: given}, text, ())
    named = [one for one in found if said in (one.found or one.designed)]
    assert named
    assert len(found) <= len(named) + (name == "overlay-spine"), "without its family, what holds in it is gone too"
    added = [one for one in named if one.found]
    lines = text.splitlines()
    assert all(said in lines[one.line - 1] for one in added), [(one.line, one.found) for one in added]


def test_forwarding_that_is_off_counts_where_packets_need_it() -> None:
    given, printed = pair("isis")
    off = printed.replace("service integrated-vtysh-config", "no ip forwarding\nservice integrated-vtysh-config")
    assert [one.kind for one in compare(reader().parsed(FILE, given), reader().parsed(FILE, off)).steps] == ["replace"]
    given, printed = pair("path-colors")
    assert "\nno ip forwarding\n" in printed, "a machine's own, which nothing there is routed by"
    off = printed.replace("no ip forwarding", "no ipv6 forwarding")
    assert [one.kind for one in compare(reader().parsed(FILE, given), reader().parsed(FILE, off)).steps] == ["replace"]


def test_a_vrf_of_which_nothing_is_said_is_the_machines() -> None:
    given, printed = pair("isis")
    more = printed.replace("\nbfd\n", "\nvrf red\nexit-vrf\n!\nbfd\n", 1)
    assert more != printed
    assert not compare(reader().parsed(FILE, given), reader().parsed(FILE, more))


def test_a_route_distinguisher_that_frr_would_take_by_itself_is_not_printed() -> None:
    """It is the number of the instance, the default's being 1: here 3, where 2 was given."""
    _, printed = pair("tenants-10.6")
    text = printed.replace("  rd 10.255.0.1:1\n", "").replace("  rd 10.255.0.1:2\n", "")
    found = compare(reader().parsed(FILE, printed), reader().parsed(FILE, text)).steps
    assert [(one.path.rpartition(" / ")[2], one.node.values) for one in found] == [
        ("rd", ("rd 10.255.0.1:2",)),
        ("rd", ("rd 10.255.0.1:3",)),
    ]
    same = printed.replace("rd 10.255.0.1:1\n", "rd 10.255.0.1:2\n", 1)
    missing = printed.replace("  rd 10.255.0.1:1\n", "", 1)
    assert not compare(reader().parsed(FILE, same), reader().parsed(FILE, missing))


def test_a_printed_neighbor_comes_back_before_its_group_and_a_vni_goes_before_its_instance() -> None:
    """FRR 10.3 refuses the other order: "Malformed address or name", "Please unconfigure l3vni"."""
    bare = "frr version 10.3\nfrr defaults datacenter\nhostname a\n"
    full = f"""{bare}vrf green
 vni 20003
exit-vrf
router bgp 65001
 neighbor spines peer-group
 neighbor et-0 interface peer-group spines
 neighbor et-0 remote-as 65002
exit
router bgp 65001 vrf green
 bgp router-id 10.0.0.1
exit
"""
    with_it, without = (reader().parsed(FILE, text) for text in (full, bare))
    gone, back = (
        [str(line).strip() for line in compare(*pair_of).commands]
        for pair_of in ((with_it, without), (without, with_it))
    )
    assert gone.index("no vni 20003") < gone.index("no router bgp 65001 vrf green")
    assert back.index("neighbor et-0 interface remote-as 65002") < back.index("neighbor et-0 peer-group spines")
