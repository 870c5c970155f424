"""What a router of the lab answered (FRRouting 10.7), cut short; and what it was not asked: lldpd's neighbors, and IS-IS in the form of FRR's isisd/isis_adjacency.c."""

from __future__ import annotations

import json

from tests.conftest import ROOT

_FOLDER = ROOT / "tests" / "systems" / "frr" / "answers"

LINUX: dict[str, str] = {
    **{
        f"forwarding-{family}": json.dumps([{"family": name, "interface": "all", "forwarding": True}])
        for family, name in (("ipv4", "inet"), ("ipv6", "inet6"))
    },
    **{f"rules-{family}": json.dumps([{"priority": 0, "src": "all", "table": "local"}]) for family in ("ipv4", "ipv6")},
    **{f"{one}-{family}": json.dumps({"default": {}}) for one in ("static", "kernel") for family in ("ipv4", "ipv6")},
}
"""What a router says of forwarding as such, and of routes that no protocol brought it."""

ANSWERS: dict[str, str] = {
    **{path.stem: path.read_text() for path in sorted(_FOLDER.iterdir())},
    "isis": json.dumps(
        {
            "areas": [
                {
                    "area": "core",
                    "circuits": [
                        {"circuit": 0},
                        {
                            "circuit": 0,
                            "adj": "router-b",
                            "interface": {"name": "et-0-0", "state": "Up", "adj-flaps": 1, "circuit-type": "L2"},
                            "level": 2,
                            "expires-in": "28s",
                        },
                        {"circuit": 0, "adj": "router-c", "interface": "et-0-1", "level": 2, "state": "Initializing"},
                    ],
                }
            ]
        }
    ),
    **LINUX,
    "lldp-neighbors": json.dumps(
        {
            "lldp": {
                "interface": {
                    "et-0-0": {
                        "chassis": {"spine1": {"id": {"type": "mac", "value": "00:1c:73:a0:fc:18"}}},
                        "port": {"id": {"type": "ifname", "value": "et-0-4"}, "descr": "stripe1-leaf1 et-0-0"},
                    }
                }
            }
        }
    ),
}
