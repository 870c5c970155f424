"""``router bgp``: what routing instances and their neighbors say, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.frr.read.families import family, in_family
from railweave.systems.frr.read.instance import INTERNAL, Instance, Neighbor
from railweave.systems.frr.read.text import secret
from railweave.systems.frr.read.values import address, as_number, prefix

if TYPE_CHECKING:
    from railweave.model.config.select import Selected
    from railweave.model.config.taking import Taking


def instances(taking: Taking) -> list[Instance]:
    """The BGP instances, in the order of the text."""
    found: dict[str, Instance] = {}
    for one in taking.each("router bgp <asn> **"):
        words = one.line.split()
        asn = as_number(one["asn"])
        vrf = words[4] if len(words) > 4 and words[3] == "vrf" else ""
        if asn is None or (len(words) > 3 and not vrf):
            taking.leave(one)
            continue
        here = found.setdefault(vrf, Instance(asn, vrf))
        for line in taking.each("<words...>", below=one) if one.below else ():
            words = line["words"].split()
            if words[0] == "address-family":
                family(taking, line, here, words)
            elif not (_general(here, words) or _neighbor(here, words, line) or in_family(here, "ipv4", words)):
                taking.leave(line)
    return list(found.values())


def _general(here: Instance, words: list[str]) -> bool:
    match words:
        case ["bgp", "router-id", text] if (found := address(text)) is not None:
            here.router_id = found
        case ["no", "bgp", "default", "ipv4-unicast"]:
            here.unicast_by_default = False
        case ["bgp", "default", "ipv4-unicast"]:
            here.unicast_by_default = True
        case ["bgp", "bestpath", "as-path", "multipath-relax"]:
            pass
        case ["bgp", "bestpath", "aigp"]:
            here.compare_aigp = True
        case ["bgp", "fast-convergence"]:
            here.fast = True
        case ["bgp", "graceful-restart"]:
            here.restart = True
        case ["bgp", "graceful-restart", "preserve-fw-state"]:
            pass
        case ["bgp", "ebgp-requires-policy"]:
            here.policy_required = True
        case ["no", "bgp", "ebgp-requires-policy"]:
            here.policy_required = False
        case ["bgp", "listen", "range", text, "peer-group", name] if (found := prefix(text)) is not None:
            here.ranges.append((found, name))
        case _:
            return False
    return True


def _neighbor(here: Instance, words: list[str], line: Selected) -> bool:
    match words:
        case ["neighbor", name, *rest] if rest:
            one = here.neighbors.get(name) or Neighbor(name)
            if not (_identity(one, rest) or _session(one, rest, line)):
                return False
            here.neighbors[name] = one
            return True
        case _:
            return False


def _identity(one: Neighbor, words: list[str]) -> bool:
    """Who the neighbor is, and the group that it is in."""
    match words:
        case ["peer-group"]:
            one.is_group = True
        case ["peer-group", name] | ["interface", "peer-group", name] | ["interface", "v6only", "peer-group", name]:
            one.group = name
            one.on_interface = one.on_interface or words[0] == "interface"
        case ["interface"] | ["interface", "v6only"]:
            one.on_interface = True
        case ["interface", "remote-as", text] | ["interface", "v6only", "remote-as", text]:
            one.on_interface = True
            return _peer_as(one, text)
        case ["remote-as", text]:
            return _peer_as(one, text)
        case ["description", *text]:
            one.description = " ".join(text)
        case ["local-as", text, *_] if (found := as_number(text)) is not None:
            one.local_as = found
        case _:
            return False
    return True


def _peer_as(one: Neighbor, text: str) -> bool:
    """``external`` is any other AS number: 0 stands for it. ``internal`` is filled in when all is known."""
    found = {"external": 0, "internal": INTERNAL}.get(text, as_number(text))
    one.peer_as = found if found is not None else one.peer_as
    return found is not None


def _session(one: Neighbor, words: list[str], line: Selected) -> bool:
    """How the session is kept up and secured."""
    match words:
        case ["timers", "connect", _] | ["capability", "extended-nexthop"] | ["bfd", "check-control-plane-failure"]:
            pass
        case ["bfd"]:
            one.bfd = one.bfd or ""
            one.bfd_lines.append(line)
        case ["bfd", "profile", name]:
            one.bfd = name
            one.bfd_lines.append(line)
        case ["ebgp-multihop"] | ["ebgp-multihop", _]:
            one.multihop = True
        case ["update-source", text]:
            one.source = text
        case ["password", text]:
            one.key = secret(text)
        case ["ttl-security", "hops", "1"]:
            one.one_hop = True
        case ["shutdown", *_]:
            one.shut = True
        case _:
            return False
    return True
