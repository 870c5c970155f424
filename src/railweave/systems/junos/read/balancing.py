"""Derivation of load balancing: the hash, dynamic load balancing, spraying, and the packets to which these apply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from railweave.model.device.balancing import BalancingConfig, Dlb, EgressQuantization, Hash, Reassignment
from railweave.systems.junos.words import FAMILIES, Word, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.model.config.addresses import Family
    from railweave.systems.junos.read.ports import Port

Mode = Literal["ecmp", "dlb-flowlet", "dlb-per-packet", "spray"]
Role = Literal["", "helper-only", "load-balancer-only"]
_ROLES: tuple[Role, ...] = ("helper-only", "load-balancer-only")
_ETHER_TYPES: tuple[Family, ...] = ("ipv4", "ipv6")


def balancing(top: Word, ports: Iterable[Port]) -> BalancingConfig:
    """Return the load balancing of a device: the hash, dynamic load balancing and spraying.

    ``top`` is the root of the configuration.
    """
    enhanced = (
        top.block("forwarding-options").block("enhanced-hash-key") if "forwarding-options" in top.below else Word("")
    )
    seed = enhanced.number("hash-seed")
    plain = _hash(top, seed)
    table = top.at_path("routing-options", "forwarding-table")
    role: Role = ""
    for role_word in _ROLES:
        role = role_word if top.flag("protocols", "bgp", "global-load-balancing", role_word) else role
    families, mode, dlb = _dlb(enhanced)
    sprayed = _sprayed(top)
    opcodes, filtered, instance = _opcodes(top, ports) if sprayed else ((), (), "")
    selective = tuple(_selective(top, ports))
    hashed: list[Family] = [
        FAMILIES[family.text]
        for family in top.entries("forwarding-options", "hash-key", "family")
        if family.text in FAMILIES
    ]
    _spraying_instance(top, instance)
    return BalancingConfig(
        group_mode="spray" if sprayed else mode,
        ether_types=tuple(dict.fromkeys(hashed)) or families,
        dlb=dlb,
        hash=plain,
        fast_reroute=table.flag("ecmp-fast-reroute") if table is not None else not runs(top),
        spray_opcodes=opcodes,
        random=sprayed,
        opcodes=opcodes,
        filtered_ports=filtered,
        selective=selective,
        global_role=role,
    )


def runs(top: Word) -> bool:
    """Return True if a routing protocol is configured. ``top`` is the root of the configuration.

    Without a routing protocol, there are no next-hop groups, and statements about their repair have no effect.
    """
    return any(top.at_path("protocols", name) is not None for name in ("bgp", "isis", "ospf", "ospf3"))


def _hash(top: Word, seed: int | None) -> Hash:
    """Return the fields of the ECMP hash, and its seed ``seed`` (None if none is set).

    Addresses or ports are in the hash only if every address family hashes them. Without statements about the hash, Junos hashes both.
    ``top`` is the root of the configuration.
    """
    families = list(top.entries("forwarding-options", "hash-key", "family"))
    if not families:
        return Hash(seed=seed)
    three = [family.flag("layer-3") for family in families]
    four = [family.flag("layer-4") for family in families]
    return Hash(all(three), all(four), seed)


def _dlb(enhanced: Word) -> tuple[tuple[Family, ...], Mode, Dlb]:
    word = enhanced.at_path("ecmp-dlb")
    if word is None:
        return (), "ecmp", Dlb()
    word.mark()
    plain = Dlb()
    per_packet = word.flag("per-packet")
    flowlet = word.at_path("flowlet")
    usual = plain.egress_quantization

    def number(here: Word | None, name: str, default: int) -> int:
        value = here.number(name) if here is not None else None
        return default if value is None else value

    again = flowlet.at_path("reassignment") if flowlet is not None else None
    egress = word.at_path("egress-quantization")
    moved = Reassignment()
    dlb = Dlb(
        inactivity_interval=number(flowlet, "inactivity-interval", plain.inactivity_interval),
        flowset_table_size=number(flowlet, "flowset-table-size", plain.flowset_table_size),
        sampling_rate=number(word, "sampling-rate", plain.sampling_rate),
        egress_quantization=EgressQuantization(
            number(egress, "min", usual.min),
            number(egress, "max", usual.max),
            number(egress, "rate-weightage", usual.rate_weightage),
        ),
        reassignment=Reassignment(
            number(again, "prob-threshold", moved.prob_threshold), number(again, "quality-delta", moved.quality_delta)
        )
        if again is not None
        else None,
    )
    if flowlet is not None:
        flowlet.mark()
    kinds = word.names("ether-type")
    return (
        tuple(kind for kind in _ETHER_TYPES if kind in kinds),
        "dlb-per-packet" if per_packet else "dlb-flowlet",
        dlb,
    )


def _terms(top: Word, policy: str) -> Iterator[Word]:
    word = top.at_path("policy-options", "policy-statement", policy)
    if word is not None:
        yield word.mark()
        yield from word.entries("term")


def _sprayed(top: Word) -> bool:
    """Return True if a policy of the forwarding table sprays packets at random, and mark the policy's statements as understood.

    ``top`` is the root of the configuration.
    """
    sprays = False
    for word in top.entries("routing-options", "forwarding-table", "export"):
        if top.at_path("policy-options", "policy-statement", word.text) is None:
            word.mark_unknown()
        for term in _terms(top, word.text):
            then = term.at_path("then")
            how = then.at_path("load-balance") if then is not None else None
            if then is None or how is None:
                continue
            for method in how.below.values():
                if method.text in {"random", "per-packet", "per-flow"}:
                    method.mark()
                sprays |= method.text == "random"
            then.flag("accept")
            if sprays:
                term.names("from", "rib")
    return sprays


def _filters(top: Word) -> Iterator[tuple[str, Word]]:
    """Yield the firewall filters as (address family, filter). ``top`` is the root of the configuration."""
    for family in top.entries("firewall", "family"):
        word = family.at_path("filter")
        for direction in word.below.values() if word is not None else ():
            yield family.text, direction


def _opcodes(top: Word, ports: Iterable[Port]) -> tuple[tuple[int, ...], tuple[str, ...], str]:
    """Return (RDMA opcodes, ports with the filter, forwarding instance) of the filter that sorts packets by opcode.

    The filter puts the packets with these opcodes into the forwarding instance. ``top`` is the root of the configuration.
    """
    for _, word in _filters(top):
        for term in word.below.get("term", Word("")).below.values():
            payload = term.at_path("from", "first-byte-of-payload")
            instance = term.at_path("then", "routing-instance")
            if payload is None or instance is None:
                continue
            for _, same in _filters(top):
                if same.text == word.text:
                    same.mark_all()
            opcodes = tuple(_numbers(payload))
            return opcodes, _bound(ports, word.text), next(iter(instance.below), "")
    return (), (), ""


def _bound(ports: Iterable[Port], name: str) -> tuple[str, ...]:
    """Return the names of the ports that apply the filter ``name`` to incoming packets, and mark the statements that do so as understood."""
    names: list[str] = []
    for port in ports:
        for unit in port.units.values():
            for family in unit.families:
                chosen = unit.word.at_path("family", family, "filter", "input", name)
                if chosen is not None:
                    chosen.mark()
                    names.append(port.name)
    return tuple(dict.fromkeys(names))


def bind(ports: Iterable[Port], names: Iterable[str]) -> None:
    """Mark as understood the statements by which ports apply the filters ``names``."""
    for name in names:
        _bound(ports, name)


def _numbers(word: Word) -> Iterator[int]:
    for member in word.below.values():
        try:
            yield whole(member.text)
        except ValueError:
            member.mark_unknown()


def _spraying_instance(top: Word, name: str) -> None:
    word = top.at_path("routing-instances", name) if name else None
    for policy in word.names("routing-options", "instance-import") if word is not None else ():
        for term in _terms(top, policy):
            term.names("from", "instance")
            term.flag("then", "accept")


def _selective(top: Word, ports: Iterable[Port]) -> Iterator[int]:
    """Yield the RDMA opcodes for which a filter enables dynamic load balancing.

    The filter is marked as understood, and so is the statement that reserves space for it in the chip. ``top`` is the root of the
    configuration.
    """
    seen: dict[int, None] = {}
    for _, word in _filters(top):
        terms = list(word.below.get("term", Word("")).below.values())
        if not any(term.at_path("then", "dynamic-load-balance") for term in terms):
            continue
        for term in terms:
            if term.at_path("then", "dynamic-load-balance") is not None:
                seen |= dict.fromkeys(code for opcode in _opcode_words(term) for code in _numbers(opcode))
                term.mark_all()
            elif term.at_path("from") is None and term.at_path("then", "accept") is not None:
                term.mark_all()
        _bound(ports, word.text)
    if seen:
        for kind in top.entries("system", "packet-forwarding-options", "firewall", "profiles"):
            kind.flag("udf-profile1")
    yield from seen


def _opcode_words(term: Word) -> Iterator[Word]:
    opcode = term.at_path("from", "rdma-opcode")
    if opcode is not None:
        yield opcode
    for version in (term.at_path("from", "ip-version") or Word("")).below.values():
        inner = version.at_path("rdma-opcode")
        if inner is not None:
            yield inner
