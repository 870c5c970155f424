"""Texts that nobody would write, read as Junos configuration: nothing but ``RenderError`` may come of them.

By hand, a number of texts: ``python -m tests.systems.junos.fuzz 1000000``.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator

from railweave.errors import RenderError
from railweave.systems.junos.read import parsed, printed, read

LONGEST = 4096
SAMPLE = """\
system { host-name a; login { user u { class super-user; authentication { ssh-rsa "ssh-rsa A"; } } } syslog { host h { any info; } } }
chassis { maximum-ecmp 64; fpc 0 { pic 0 { port 1 { speed 100g; } } } }
groups { g { interfaces { <et-*> { mtu 9216; } } } }
apply-groups [ g h ];
interfaces { interface-range r { member-range et-0/0/1 to et-0/0/4; mtu 9000; } et-0/0/0 { unit 0 { family inet { filter { input f; } address 10.0.0.0/31 { primary; } } } }
 irb { unit 5 { family inet6 { mtu 9000; address fc00::1/64 { virtual-gateway-address fc00::2; } } } } lo0 { unit 0 { family inet { address 10.255.0.1/32; } family iso { address 49.1; } } } }
class-of-service { classifiers { dscp c { forwarding-class X { loss-priority low code-points [ 011010 af11 ]; } } } forwarding-classes { class X queue-num 4 no-loss pfc-priority 3; }
 interfaces { et-0/0/0 { scheduler-map m; unit 0 { classifiers { dscp c; } } congestion-notification-profile p; } } scheduler-maps { m { forwarding-class X scheduler s; } }
 schedulers { s { drop-profile-map loss-priority any protocol any drop-profile d; explicit-congestion-notification; } } drop-profiles { d { interpolate { fill-level [ 10 20 ]; drop-probability [ 0 50 ]; } } }
 congestion-notification-profile { p { input { dscp { code-point 011010 { pfc; mru 9000; } } cable-length 10; } output { ieee-802.1 { code-point 011 { flow-control-queue 4; } } } } } }
policy-options { policy-statement e { term a { from { policy f; protocol [ direct bgp ]; route-filter 10.0.0.0/8 upto /32; } then { community add c; accept; } } then reject; }
 policy-statement f { term a { from family inet; then accept; } } community c members [ 1:2 large:1:2:3 ]; as-list l members 1-2; prefix-list p { 10.0.0.0/8; } }
routing-instances { v { instance-type vrf; interface irb.5; route-distinguisher 1:1; vrf-target target:1:1; protocols { bgp { group x { neighbor 10.0.0.1 { peer-as 1; } } } evpn { ip-prefix-routes { vni 5; export e; } } } } }
protocols { bgp { group u { type external; export ( e && f ); family inet { unicast; } multipath; neighbor 10.0.0.1 { peer-as 65001.1; import e; } } group o { family evpn { signaling; } neighbor 10.255.0.2; } }
 isis { interface et-0/0/0.0 { level 2 metric 10; family inet { bfd-liveness-detection minimum-interval 100; } } } evpn { extended-vni-list all; } router-advertisement { interface irb.5 { prefix fc00::/64; } } }
firewall { family inet { filter f { term a { from { protocol tcp; destination-port ssh; } then accept; } } } policer q { if-exceeding { bandwidth-limit 5m; burst-size-limit 1k; } then discard; } }
switch-options { vtep-source-interface lo0.0; } vlans { v5 { vlan-id 5; l3-interface irb.5; vxlan { vni 5; } } } inactive: security { macsec { interfaces { et-0/0/0 { connectivity-association a; } } } }
"""
STARTS = (
    "",
    "set system host-name a\n",
    "<configuration>",
    '{"configuration": {',
    "<rpc-reply><configuration><interfaces>",
)
PIECES = (
    *SAMPLE.split(),
    *(
        "set",
        "deactivate",
        "delete",
        "edit",
        "top",
        "up",
        "activate",
        "insert",
        "[",
        "]",
        "{",
        "}",
        ";",
        '"',
        "\\",
        "#",
        "/*",
        "*/",
    ),
    *(
        "<name>",
        "</name>",
        "<a>",
        "</a>",
        "/>",
        "inactive:",
        "<interface>",
        "inactive='inactive'",
        "&lt;",
        "<!DOCTYPE a [",
        "]>",
    ),
    *(
        ":",
        ",",
        "[null]",
        '"@": {"inactive": true}',
        '"name": "x"',
        "\n",
        "\r\n",
        "\t",
        "\x00",
        "\ufeff",
        "é",
        "999999999999999999999",
        "-1",
    ),
    *(
        "apply-groups",
        "groups",
        "<*>",
        "member-range",
        "to",
        "policy",
        "large:1:2:3",
        "$9$",
        "<secret:a>",
        "0.0.0.0/0",
        "::/0",
        "::",
        "/",
    ),
)


def texts(seed: int, count: int) -> Iterator[str]:
    """Texts, the same for the same seed: a sample with some of it cut, doubled or replaced, or words at random."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    words: list[str] = [*SAMPLE.split(" ")]
    for _ in range(count):
        if rng.random() < 0.6:
            changed: list[str] = list(words)
            for _ in range(rng.randint(1, 12)):
                at, far = rng.randrange(len(changed)), rng.randrange(1, 30)
                kind = rng.random()
                if kind < 0.3:
                    del changed[at : at + far]
                elif kind < 0.5:
                    changed[at:at] = changed[far : far + 20]
                else:
                    changed[at] = rng.choice(PIECES)
                changed = changed or ["a"]
            yield " ".join(changed)[:LONGEST]
        else:
            made = rng.choice(STARTS) + " ".join(rng.choice(PIECES) for _ in range(rng.randint(1, 200)))
            yield made[:LONGEST] if rng.random() < 0.95 else (rng.choice(PIECES) + " ") * 400


def attempt(text: str) -> None:
    """Read a text every way; whatever is not a broken form must be read."""
    try:
        found = read({"junos.conf": text})
        tree = parsed("junos.conf", text)
    except RenderError as error:
        if not error.line:
            raise
        return
    assert all(one.line > 0 for one in found.statements)
    read({"junos.conf": printed("junos.conf", tree.nodes), "junos.set": text})


def run(seed: int, count: int) -> None:
    """Attempt as many texts; the one that fails is printed."""
    for text in texts(seed, count):
        try:
            attempt(text)
        except Exception:
            print(repr(text), file=sys.stderr)
            raise


if __name__ == "__main__":
    run(int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[1]))
