"""Lists that take prefixes of some lengths only: read on the systems that others write them on, and known to policies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from railweave.analysis.routing.attributes import AttributeTable
from railweave.analysis.routing.policy import PolicyEngine
from railweave.model.config.addresses import Prefix
from railweave.model.config.number_ranges import lengths, of_list
from railweave.model.device.build import device_config
from railweave.model.device.model import Match
from tests.conftest import example
from tests.systems.there_and_back import reader, unknown

EOS = """\
ip prefix-list pool
   seq 10 permit 10.255.0.0/16 eq 32
   seq 20 permit 10.254.0.0/24 eq 32
route-map connected permit 10
   match ip address prefix-list pool
router bgp 65001
   redistribute connected route-map connected
"""
FRR = """\
ip prefix-list pool seq 10 permit 10.255.0.0/16 ge 32
ip prefix-list pool seq 20 permit 10.254.0.0/24 ge 32 le 32
route-map connected permit 10
 match ip address prefix-list pool
router bgp 65001
 address-family ipv4 unicast
  redistribute connected route-map connected
"""
JUNOS = """\
set policy-options policy-statement connected term 10 from route-filter 10.255.0.0/16 prefix-length-range /32-/32
set policy-options policy-statement connected term 10 from route-filter 10.254.0.0/24 prefix-length-range /32-/32
set policy-options policy-statement connected term 10 then accept
set protocols bgp group a export connected
set protocols bgp group a neighbor 10.0.0.1 peer-as 65000
"""


@pytest.mark.parametrize(
    ("nos", "file", "text"), [("eos", "eos.conf", EOS), ("frr", "frr.conf", FRR), ("junos", "leaf1.set", JUNOS)]
)
def test_lengths_are_read(nos: str, file: str, text: str) -> None:
    found = reader(nos).read({file: text})
    assert unknown(found) == []
    assert found.config.bgp is not None
    [match] = [one.match for policy in found.config.bgp.policies for one in policy.terms if one.match.prefix_list]
    assert (match.orlonger, match.lengths) == (True, (32, 32))


@pytest.mark.parametrize(("nos", "file", "text"), [("eos", "eos.conf", EOS), ("frr", "frr.conf", FRR)])
def test_entries_of_two_kinds_count_one_by_one(nos: str, file: str, text: str) -> None:
    other = text.replace("10.254.0.0/24 eq 32", "10.254.0.0/24 le 30").replace("ge 32 le 32", "le 30")
    found = reader(nos).read({file: other})
    assert unknown(found) == []
    assert found.config.bgp is not None
    [listed] = found.config.bgp.entry_lists
    assert [(entry.prefix, entry.lengths) for entry in listed.entries] == [
        ("10.255.0.0/16", (32, 32)),
        ("10.254.0.0/24", (24, 30)),
    ]


def test_filters_of_several_kinds_count_by_the_longest_prefix() -> None:
    begin = "set policy-options policy-statement connected term 10 from route-filter"
    text = f"{begin} 0.0.0.0/0 prefix-length-range /1-/32\n{begin} 10.0.0.0/8 upto /32\n{begin} 11.0.0.0/8 orlonger\n"
    found = reader("junos").read({"leaf1.set": text + JUNOS.partition("/32-/32\n")[2].partition("\n")[2]})
    assert unknown(found) == []
    assert found.config.bgp is not None
    [listed] = found.config.bgp.entry_lists
    assert [(one.prefix, one.lengths, one.permit) for one in listed.entries] == [
        ("10.0.0.0/8", (8, 32), True),
        ("10.0.0.0/8", (8, 32), False),
        ("11.0.0.0/8", (8, 32), True),
        ("11.0.0.0/8", (8, 32), False),
        ("0.0.0.0/0", (1, 32), True),
        ("0.0.0.0/0", (0, 32), False),
    ]


@pytest.mark.parametrize(
    ("entries", "meant"),
    [
        (["10.0.0.0/8 le 32", "10.1.0.0/16 ge 16", "10.2.0.1/32"], (True, None)),
        (["10.0.0.0/8", "10.2.0.1/32"], (False, None)),
        (["10.0.0.1/32 le 32"], (True, None)),
        (["10.0.0.0/8 ge 24", "10.1.0.0/16 ge 24 le 32"], (True, (24, 32))),
        (["10.0.0.0/8 le 24", "10.1.0.0/16 le 24"], (True, (0, 24))),
        (["10.0.0.0/8 le 24", "10.1.0.0/16"], None),
    ],
)
def test_words_of_a_list(entries: list[str], meant: object) -> None:
    made: list[tuple[Prefix, tuple[int, int], bool]] = []
    for one in entries:
        text, *words = one.split()
        taken = lengths(Prefix(text), words)
        assert taken is not None
        made.append((Prefix(text), taken, bool(words)))
    assert of_list(made) == meant


def test_policies_go_by_lengths() -> None:
    bgp = device_config(example("h100-rlb"), "stripe1-leaf1").bgp
    assert bgp is not None
    term = replace(bgp.policies[0].terms[0], match=Match(prefix_list="pool", orlonger=True, lengths=(24, 24)))
    own = replace(
        bgp,
        policies=(replace(bgp.policies[0], terms=(term,)),),
        prefix_lists={"pool": (Prefix("10.0.0.0/8"),)},
        default_accept=False,
    )
    engine = PolicyEngine(["10.0.0.0/8", "10.1.0.0/24", "10.1.1.0/25", "11.0.0.0/24"], AttributeTable())
    policy = engine.resolved(own, own.policies[0].name)
    [*_, last] = policy.terms  # those before it are of families that the switch does not route
    taken = engine.listed(last.prefixes or (), orlonger=True, lengths=last.lengths)
    assert taken.tolist() == [False, True, False, False]
