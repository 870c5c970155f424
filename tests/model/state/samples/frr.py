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
    "neighbors-ipv4": json.dumps(
        [{"dst": "10.0.1.11", "dev": "et-2-1", "lladdr": "ee:58:cb:28:e1:5c", "state": ["REACHABLE"]}]
    ),
    "parameters": "/proc/sys/net/ipv4/fib_multipath_hash_policy:1\n/proc/sys/net/ipv6/fib_multipath_hash_policy:1\n",
    "filters": json.dumps(
        {
            "nftables": [
                {"metainfo": {"version": "1.0.6", "release_name": "Lester Gooch #5", "json_schema_version": 1}},
                {"table": {"family": "inet", "name": "x", "handle": 1}},
                {"chain": {"family": "inet", "table": "x", "name": "bad", "handle": 1}},
                {
                    "chain": {
                        "family": "inet",
                        "table": "x",
                        "name": "f",
                        "handle": 2,
                        "type": "filter",
                        "hook": "forward",
                        "prio": 0,
                        "policy": "accept",
                    }
                },
                {
                    "chain": {
                        "family": "inet",
                        "table": "x",
                        "name": "count",
                        "handle": 3,
                        "type": "filter",
                        "hook": "input",
                        "prio": 0,
                        "policy": "accept",
                    }
                },
                {"rule": {"family": "inet", "table": "x", "chain": "bad", "handle": 4, "expr": [{"drop": None}]}},
                {
                    "rule": {
                        "family": "inet",
                        "table": "x",
                        "chain": "f",
                        "handle": 5,
                        "expr": [
                            {
                                "match": {
                                    "op": "==",
                                    "left": {"meta": {"key": "iifname"}},
                                    "right": {"set": ["et-0-0", "et-1-0"]},
                                }
                            },
                            {"jump": {"target": "bad"}},
                        ],
                    }
                },
                {
                    "rule": {
                        "family": "inet",
                        "table": "x",
                        "chain": "count",
                        "handle": 6,
                        "expr": [{"counter": {"packets": 0, "bytes": 0}}, {"accept": None}],
                    }
                },
            ]
        }
    ),
    **{
        f"route-count-{family}": json.dumps(
            {
                "routes": [
                    {"fib": 9, "rib": 9, "fibOffLoaded": 0, "fibTrapped": 0, "type": "connected"},
                    {"fib": 4, "rib": 5, "fibOffLoaded": 0, "fibTrapped": 0, "type": "ebgp"},
                    {"fib": 0, "rib": 0, "fibOffLoaded": 0, "fibTrapped": 0, "type": "ibgp"},
                ],
                "routesTotal": 14,
                "routesTotalFib": 13,
            }
        )
        for family in ("ipv6", "ipv4")
    },
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

EMPTY_TABLE = "{}"
"""A table without routes."""
