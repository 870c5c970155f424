"""What matters in ``frr.conf`` and in the rules of the host below it."""

from __future__ import annotations

from tests.mutants.kinds import Kind
from tests.mutants.rows import Row, address, flipped, larger, near, numbered, word

_BGP = r"router bgp \d+( vrf \S+)? / "
_FAMILY = _BGP + r"address-family [^/]+ / "
_PREFIX = r"[0-9a-f:.]+/\d+"

ROWS = (
    Row(Kind.AS, r"router bgp (?P<value>\d+)", near, drops=False),
    Row(Kind.AS, _BGP + r"neighbor (?P<port>\S+) (interface )?remote-as (?P<value>\d+)", near),
    Row(Kind.BFD, _BGP + r"neighbor \S+ bfd( profile \S+)?"),
    Row(Kind.BFD, r"bfd / profile \S+ / (detect-multiplier|receive-interval|transmit-interval) (?P<value>\d+)", larger),
    Row(Kind.SESSION, _BGP + r"neighbor (?P<port>\S+) peer-group (?P<value>\S+)", word),
    Row(Kind.SESSION, _FAMILY + r"neighbor \S+ activate"),
    Row(Kind.SESSION, _BGP + r"neighbor \S+ (capability extended-nexthop|update-source \S+|ebgp-multihop \d+)"),
    Row(Kind.SESSION, _FAMILY + r"neighbor \S+ attribute-unchanged next-hop"),
    Row(Kind.POLICY, _FAMILY + r"neighbor \S+ route-map (?P<value>\S+) (in|out)", word),
    Row(Kind.TERM_ORDER, r"route-map \S+ (permit|deny) \d+", drops=False, moves=True),
    Row(Kind.TERM, r"route-map \S+ (?P<value>permit|deny) \d+ ?", flipped),
    Row(Kind.TERM, r"route-map [^/]+ / match (ip|ipv6) address prefix-list (?P<value>\S+)", word),
    Row(Kind.PREFIX, rf"(ip|ipv6) prefix-list \S+ seq \d+ permit (?P<value>{_PREFIX})( le \d+)?", address, adds=True),
    Row(Kind.MARK, r"route-map evpn[^/]+ / (set|match) (large-)?community (?P<value>\S+)( additive)?", numbered, changes=False),
    Row(Kind.COLOR, r"route-map [^/]+ / set (local-preference|aigp) (?P<value>\d+)", larger),
    Row(Kind.COLOR, r"route-map (?!evpn)[^/]+ / set large-community (?P<value>\d+:\d+:\d+) additive", numbered),
    Row(Kind.COLOR, r"route-map (?!evpn)[^/]+ / match large-community (?P<value>\S+)", word),
    Row(Kind.COLOR, r"bgp large-community-list standard (?!from-spine)\S+ (seq \d+ )?permit (?P<value>\d+:\d+:\d+)", numbered),
    Row(Kind.REDISTRIBUTION, r"router bgp \d+ / address-family [^/]+ / redistribute connected( route-map (?P<value>\S+))", word),
    Row(Kind.ECMP, r"router bgp \d+ / address-family [^/]+ / maximum-paths (?P<value>\d+)", near),
    Row(Kind.LINK_ADDRESS, rf"interface (?P<port>et\S+) / (ip|ipv6) address (?P<value>{_PREFIX})", address),
    Row(Kind.LOOPBACK, r"router bgp \d+ / bgp router-id (?P<value>\S+)", address, drops=False),
    Row(Kind.LOOPBACK, rf"interface lo / (ip|ipv6) address (?P<value>{_PREFIX})", address),
    Row(Kind.GATEWAY, rf"interface irb\S+( vrf \S+)? / (ip|ipv6) address (?P<value>{_PREFIX})", address),
    Row(Kind.RA, r"interface irb\S+( vrf \S+)? / no ipv6 nd suppress-ra"),
    Row(Kind.RA, r"interface irb\S+( vrf \S+)? / ipv6 nd (ra-interval|ra-lifetime|ra-hop-limit) (?P<value>\d+)", larger),
    Row(Kind.RA_PREFIX, rf"interface irb\S+( vrf \S+)? / ipv6 nd prefix (?P<value>{_PREFIX}) \d+ \d+", address),
    Row(Kind.TARGET, _FAMILY + r"(vni \d+ / )?route-target (import|export) (?P<value>\d+:\d+)", numbered, adds=True),
    Row(Kind.TARGET, _FAMILY + r"(vni \d+ / )?rd (?P<value>\S+)", numbered),
    Row(Kind.VNI, r"vrf \S+ / vni (?P<value>\d+)", numbered),
    Row(Kind.VNI, _FAMILY + r"advertise(-all-vni| ipv[46] unicast)"),
    Row(Kind.VRF, r"interface \S+ vrf (?P<value>\S+)", word, drops=False),
    Row(Kind.NAME, r"hostname (?P<value>\S+)", word),
    Row(Kind.PROTECTION, r".*(?P<value>dport (\d+|\{[^}]*\})) accept.*|.*ip6? saddr .*accept.*", numbered, changes=False),
)  # fmt: skip
