"""Policies that say more than a term holds, on every system: they are read as not known, and never as a term that takes all routes."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.devices import compare_device
from railweave.analysis.checks.subject import Subject
from railweave.analysis.routing.attributes import NONE, Attributes, AttributeTable
from railweave.analysis.routing.policy import PolicyEngine
from railweave.errors import RenderError, UnknownPolicyError
from railweave.model.device.build import device_config
from railweave.model.device.config_file import from_json, to_json
from railweave.systems import system
from tests.conftest import example
from tests.dual_stack import dual
from tests.retarget import retargeted
from tests.systems.there_and_back import reader, unknown

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig, Term

SYSTEMS = ("junos", "eos", "sonic", "dell_sonic", "frr")
ROUTE_MAPS = SYSTEMS[1:]
FILES = {"junos": "junos.set", "eos": "eos.conf", "sonic": "frr.conf", "dell_sonic": "sonic.cli", "frr": "frr.conf"}
"""The file of each system that has the policies."""
OWN, OTHER = "fc00:1:1:1::/64", "fc00:1:1:2::/64"


@cache
def designed(nos: str) -> DeviceConfig:
    network = example("h100-rlb") if nos == "junos" else retargeted("h100-rlb", nos)
    return device_config(network, "stripe1-leaf1", nos)


@cache
def files(nos: str) -> dict[str, str]:
    made = system(nos).files(designed(nos))
    return {FILES[nos]: made[FILES[nos]]} if nos == "junos" else made


def changed(nos: str, old: str, new: str, texts: dict[str, str] | None = None) -> dict[str, str]:
    """The texts with the first of some lines replaced."""
    texts = texts or files(nos)
    assert old in texts[FILES[nos]]
    return {**texts, FILES[nos]: texts[FILES[nos]].replace(old, new, 1)}


def with_statement(nos: str, statement: str) -> dict[str, str]:
    """The texts with a statement more in the first term of the policy of what the leaf sends."""
    if nos == "junos":
        line = "set policy-options policy-statement to-spines term own "
        return changed(nos, f"{line}then accept", f"{line}then accept\n{line}{statement}")
    header = re.search(r"route-map to-spines permit \d+\n", files(nos)[FILES[nos]])
    assert header is not None
    return changed(nos, header[0], f"{header[0]}   {statement}\n" if nos == "eos" else f"{header[0]} {statement}\n")


def first_term(config: DeviceConfig, policy: str = "to-spines") -> Term:
    assert config.bgp is not None
    return next(one.terms[0] for one in config.bgp.policies if one.name == policy)


def passes(config: DeviceConfig, policy: str, prefix: str) -> bool:
    """Whether a connected route passes a policy."""
    assert config.bgp is not None
    table = AttributeTable()
    engine = PolicyEngine([prefix], table)
    ids = np.array([table.id_of(Attributes("direct"))], dtype=np.int32)
    return engine.apply(engine.resolved(config.bgp, policy), ids, np.array([True]))[0] != NONE


STATEMENTS = {
    "junos": (
        "from tag 5",
        "from protocol static",
        "from as-path long",
        "from neighbor 10.0.0.1",
        "from prefix-list-filter other longer",
        "to rib inet.2",
        "then metric 5",
        "then next policy",
        "then community delete local",
    ),
    "eos": (
        "match tag 5",
        "match as-path LONG",
        "match ip address access-list OLD",
        "set metric 5",
        "continue 30",
        "sub-route-map OTHER",
    ),
    "sonic": ("match tag 5", "match community local exact-match", "set metric 5", "on-match next", "call OTHER"),
    "dell_sonic": ("match tag 5", "match as-path LONG", "set metric 5", "call OTHER", "match peer 10.0.0.1"),
    "frr": ("match tag 5", "match rpki valid", "set metric 5", "on-match goto 30", "continue", "call OTHER"),
}


@pytest.mark.parametrize(("nos", "statement"), [(nos, one) for nos in SYSTEMS for one in STATEMENTS[nos]])
def test_a_statement_that_is_not_understood_makes_its_term_unknown(nos: str, statement: str) -> None:
    found = reader(nos).read(with_statement(nos, statement))
    assert [line for line in unknown(found) if line.endswith(statement)]
    assert first_term(found.config).unknown == (statement,)
    with pytest.raises(UnknownPolicyError, match="which is not understood"):
        passes(found.config, "to-spines", OWN)
    assert from_json(to_json(found.config)) == found.config


@pytest.mark.parametrize("nos", SYSTEMS)
def test_what_is_rendered_is_known(nos: str) -> None:
    bgp = reader(nos).read(files(nos)).config.bgp
    assert bgp is not None
    assert not any(term.unknown for policy in bgp.policies for term in policy.terms)
    assert bgp.entry_lists == ()


@pytest.mark.parametrize("nos", SYSTEMS)
def test_it_is_found_with_its_line_and_routes_are_not_known(nos: str) -> None:
    config, statement = designed(nos), STATEMENTS[nos][0]
    texts = with_statement(nos, statement)
    rendered = system(nos).files(config)
    line = 1 + next(at for at, text in enumerate(texts[FILES[nos]].splitlines()) if text.endswith(statement))
    file = "junos.conf" if nos == "junos" else FILES[nos]
    result = compare_device(config, rendered, {file: (f"x/{file}", texts[FILES[nos]])})
    assert [(one.id, one.line) for one in result.findings] == [("policy-differs", line)]
    assert result.config is not None
    network = example("h100-rlb") if nos == "junos" else retargeted("h100-rlb", nos)
    subject = Subject(network, {**Subject.of(network).configs, config.name: result.config})
    [finding] = [one for one in run_checks(subject, slow=False) if one.id == "routes-not-known"]
    assert all(word in finding.what for word in ("'to-spines'", config.name, statement))
    with pytest.raises(RenderError, match="not understood"):
        system(nos).files(result.config)


def test_terms_of_junos_that_go_on() -> None:
    line = "set policy-options policy-statement to-spines term own then"
    for text, known in (("next term", True), ("local-preference 200", False), ("default-action accept", False)):
        found = reader("junos").read(changed("junos", f"{line} accept", f"{line} {text}")).config
        term = first_term(found)
        assert (term.name, term.unknown) == (("no-transit", ()) if known else ("own", (f"then {text}",)))


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("term own from policy other", "from policy other"),
        ("term own from community odd", "from community odd"),
        ("term own from route-filter 10.0.0.0/8 through 10.1.0.0/16", "from route-filter 10.0.0.0/8 through 10.1.0.0/16"),
        ("dynamic-db", "dynamic-db"),
    ],
)  # fmt: skip
def test_what_terms_of_junos_refer_to(text: str, statement: str) -> None:
    begin = "set policy-options"
    more = f"{begin} community odd invert-match\n{begin} community odd members 65000:1\n"
    line = f"{begin} policy-statement to-spines term own then accept\n"
    found = reader("junos").read(changed("junos", line, f"{line}{more}{begin} policy-statement to-spines {text}\n"))
    assert statement in first_term(found.config).unknown


def test_an_expression_of_policies_is_not_taken_for_none() -> None:
    texts = files("junos")
    [group] = list(dict.fromkeys(re.findall(r"set protocols bgp group (\S+) import from-spines", texts["junos.set"])))[
        :1
    ]
    old = f"set protocols bgp group {group} import from-spines"
    new = f"set protocols bgp group {group} import ( from-spines || to-spines )"
    config = reader("junos").read(changed("junos", old, new, texts)).config
    assert config.bgp is not None
    name = next(one.import_policy for one in config.bgp.groups if one.name == group)
    assert first_term(config, name).unknown == (name,)


def test_a_map_in_statements_of_eos_is_not_known() -> None:
    found = reader("eos").read(
        changed("eos", "route-map to-spines permit 10", "route-map to-spines statement A permit 10")
    )
    assert first_term(found.config).unknown == ("route-map to-spines statement A permit 10",)


TABLES = {
    "BGP_GLOBALS": {"default": {"local_asn": "65001"}},
    "BGP_GLOBALS_AF": {"default|ipv4_unicast": {}, "default|ipv6_unicast": {}},
    "ROUTE_REDISTRIBUTE": {"default|connected|bgp|ipv4": {"route_map": ["A"]}},
    "ROUTE_MAP": {"A|10": {"route_operation": "permit", "match_prefix_set": "X"}},
    "PREFIX_SET": {"X": {"mode": "IPv4"}},
    "PREFIX": {"X|10.0.0.0/8|8..32": {"action": "permit"}},
}


def of_tables(**more: object) -> DeviceConfig:
    return reader("sonic").read({"config_db.json": json.dumps({**TABLES, **more})}).config


@pytest.mark.parametrize("field", ["match_tag", "match_as_path", "set_med", "call_route_map", "match_protocol"])
def test_fields_of_route_map_tables(field: str) -> None:
    row = {"route_operation": "permit", "match_prefix_set": "X", field: "5"}
    assert passes(of_tables(), "A", "10.1.0.0/24")
    assert first_term(of_tables(ROUTE_MAP={"A|10": row}), "A").unknown == (f"{field} 5",)


def test_sets_of_tables() -> None:
    denied = {"X|10.0.0.0/8|8..32": {}, "X|10.1.0.0/16|exact": {"action": "deny"}}
    assert first_term(of_tables(PREFIX=denied), "A").unknown  # which of the two comes first is not said
    numbered = {"X|5|10.1.0.0/16|exact": {"action": "deny"}, "X|10|10.0.0.0/8|8..32": {"action": "permit"}}
    config = of_tables(PREFIX=numbered)
    assert [passes(config, "A", prefix) for prefix in ("10.1.0.0/16", "10.2.0.0/16")] == [False, True]
    six = of_tables(PREFIX_SET={"X": {"mode": "IPv6"}}, PREFIX={"X|fc00::/16|16..128": {}})
    assert first_term(six, "A").match.family == "ipv6"
    row = {"route_operation": "permit", "match_community": "C"}
    for listed in ({"community_member": ["65000:1", "65000:2"]}, {"community_member": ["65000:1"], "action": "deny"}):
        odd = of_tables(ROUTE_MAP={"A|10": row}, COMMUNITY_SET={"C": {"set_type": "STANDARD", **listed}})
        assert first_term(odd, "A").unknown == ("match community C",)


def entry(nos: str, sequence: int, words: str, family: str = "ipv6") -> tuple[str, str]:
    """The first line of the list ``local``, and the same with an entry before it."""
    if nos == "eos":
        header = "ipv6 prefix-list local\n"
        return header, f"{header if family == 'ipv6' else 'ip prefix-list local' + chr(10)}   seq {sequence} {words}\n"
    line = "ipv6 prefix-list local seq 5"
    return line, f"{'ip' if family == 'ipv4' else family} prefix-list local seq {sequence} {words}\n{line}"


@pytest.mark.parametrize("nos", ROUTE_MAPS)
def test_entries_that_deny_count_in_order(nos: str) -> None:
    found = reader(nos).read(changed(nos, *entry(nos, 1, f"deny {OWN}")))
    assert unknown(found) == []
    assert [passes(found.config, "connected", prefix) for prefix in (OWN, OTHER)] == [False, True]
    last = reader(nos).read(changed(nos, *entry(nos, 900, f"deny {OWN}")))
    assert passes(last.config, "connected", OWN)
    with pytest.raises(RenderError, match="count one by one"):
        system(nos).files(found.config)


@pytest.mark.parametrize("nos", ROUTE_MAPS)
def test_each_entry_has_its_own_lengths(nos: str) -> None:
    old = "permit fc00::/16 le 128"
    found = reader(nos).read(changed(nos, old, "permit fc00::/16 ge 65 le 127"))
    assert unknown(found) == []
    taken = [passes(found.config, "connected", prefix) for prefix in (OWN, "fc00::/80", "fd00:1::/64", "fc00::1/128")]
    assert taken == [False, True, True, False]


@pytest.mark.parametrize("nos", ROUTE_MAPS)
def test_an_entry_that_is_not_understood_makes_terms_unknown(nos: str) -> None:
    found = reader(nos).read(changed(nos, *entry(nos, 1, f"permit {OWN} sometimes")))
    assert len(unknown(found)) == 1
    assert len(first_term(found.config, "connected").unknown) == 1


COMMUNITY_LISTS = {
    "eos": "ip community-list",
    "sonic": "bgp community-list standard",
    "frr": "bgp community-list standard",
    "dell_sonic": "bgp community-list standard",
}


@pytest.mark.parametrize("nos", ROUTE_MAPS)
@pytest.mark.parametrize("more", ["deny 65000:1", "permit 65000:1 65000:2"])
def test_community_lists_that_say_more_make_terms_unknown(nos: str, more: str) -> None:
    word = COMMUNITY_LISTS[nos]
    texts = with_statement(nos, "match community odd")
    text = texts[FILES[nos]].replace("route-map connected", f"{word} odd {more}\nroute-map connected", 1)
    found = reader(nos).read({**texts, FILES[nos]: text})
    assert len(unknown(found)) == 1
    assert first_term(found.config).unknown == ("match community odd",)


@pytest.mark.parametrize("nos", ROUTE_MAPS)
def test_lists_of_one_name_in_two_families_are_two(nos: str) -> None:
    before = reader(nos).read(files(nos)).config
    old, new = entry(nos, 5, "deny 10.0.0.0/8", "ipv4")
    new += "" if new.endswith(old) else old
    both = reader(nos).read(changed(nos, old, new)).config
    assert before.bgp is not None
    assert both.bgp is not None
    assert both.bgp.prefix_lists == before.bgp.prefix_lists
    assert passes(both, "connected", OWN)
    other = reader(nos).read(changed(nos, "match ipv6 address prefix-list local", "match ip address prefix-list local"))
    assert not passes(other.config, "connected", OWN)


def in_two_families(nos: str) -> tuple[DeviceConfig, dict[str, str]]:
    """The design of a leaf that routes both families, and its texts."""
    network = dual("plain", nos)
    config = device_config(network, next(one.name for one in network.switches if one.role == "leaf"), nos)
    assert config.bgp is not None
    assert config.bgp.families == ("ipv4", "ipv6")
    return config, system(nos).files(config)


def of_family(nos: str, texts: dict[str, str], family: str, old: str, new: str) -> dict[str, str]:
    """The texts with another line in one family alone. On EOS lines of the process hold for both, so it is added to the family."""
    text = texts[FILES[nos]]
    if nos == "eos":
        text = re.sub(rf"( +)address-family {family}\n", rf"\g<0>\1   {new}\n", text)
    else:
        head, _, tail = text.rpartition(f"{old}\n") if family == "ipv6" else text.partition(f"{old}\n")
        text = f"{head}{new}\n{tail}"
    return {**texts, FILES[nos]: text}


@pytest.mark.parametrize("nos", ROUTE_MAPS)
def test_each_family_has_its_own_redistribution(nos: str) -> None:
    config, texts = in_two_families(nos)
    assert config.bgp is not None
    own = {prefix.family: prefix for prefixes in config.bgp.prefix_lists.values() for prefix in prefixes}
    line = "redistribute connected route-map connected"
    if nos == "eos":
        none = {**texts, "eos.conf": texts["eos.conf"].replace(line, "!")}
        six_out = of_family(nos, none, "ipv4", "", line)
    else:
        six_out = of_family(nos, texts, "ipv6", line, "!")
    for changed_texts, six in ((six_out, False), (texts, True)):
        found = reader(nos).read(changed_texts).config
        assert found.bgp is not None
        name = found.bgp.redistribute_connected or ""
        assert [passes(found, name, own[family]) for family in found.bgp.families] == [True, six]


@pytest.mark.parametrize("nos", ROUTE_MAPS)
def test_each_family_has_its_own_route_maps(nos: str) -> None:
    config, texts = in_two_families(nos)
    assert config.bgp is not None
    group = config.bgp.groups[0].name
    begin = "" if nos == "dell_sonic" else f"neighbor {group} "
    other = of_family(nos, texts, "ipv6", f"{begin}route-map to-spines out", f"{begin}route-map none out")
    header = "route-map to-spines permit 10"
    other[FILES[nos]] = other[FILES[nos]].replace(header, f"route-map none deny 10\n!\n{header}", 1)
    found = reader(nos).read(other).config
    assert found.bgp is not None
    own = {prefix.family: prefix for prefix in found.bgp.prefix_lists["own"]}
    assert found.bgp.groups[0].export_policy == "ipv4: to-spines, ipv6: none"
    assert [passes(found, found.bgp.groups[0].export_policy, own[family]) for family in found.bgp.families] == [
        True,
        False,
    ]
    with pytest.raises(RenderError, match="differs between address families"):
        system(nos).files(found)


@pytest.mark.parametrize("nos", SYSTEMS)
def test_a_policy_of_the_overlay_that_is_not_known_has_no_mark(nos: str) -> None:
    network = example("evpn-functional") if nos == "junos" else retargeted("evpn-functional", nos)
    rendered = system(nos).files(device_config(network, "leaf1", nos))
    texts = {FILES[nos]: rendered[FILES[nos]]} if nos == "junos" else rendered
    before = reader(nos).read(texts).config.overlay
    if nos == "junos":
        line = re.search(r"set policy-options policy-statement evpn-to-\S+ term (?!no)\S+ ", texts[FILES[nos]])
    else:
        line = re.search(r"route-map evpn-to-\S+ permit \d+\n", texts[FILES[nos]])
    assert line is not None
    more = f"{line[0]}from tag 5\n{line[0]}" if nos == "junos" else f"{line[0]}   match tag 5\n"
    after = reader(nos).read(changed(nos, line[0], more, texts)).config.overlay
    assert before is not None
    assert after is not None
    assert before.from_spine
    assert after.from_spine == ""
