"""Packet filters of a Linux router, as ``nft -j list ruleset`` shows them."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from railweave.model.state.values import Answers
from railweave.systems.frr.state.linux import filters
from tests.netns import needs_root


def shown(ruleset: str) -> list[tuple[str, ...]]:
    """Load a ruleset into a namespace of its own, and return the ports of each filter that is read from it."""
    if shutil.which("nft") is None:
        pytest.skip("no nft (make test-programs)")
    inside = ["unshare", "--net", "sh", "-c", "nft -f - && nft -j list ruleset"]
    done = subprocess.run(inside, input=ruleset, capture_output=True, text=True, check=True)
    answer = Answers("leaf1", {"filters": done.stdout}).tree("filters")
    assert answer is not None
    return [entry.ports for entry in filters(answer)]


BASE = "table inet t {{\n{more} chain c {{ type filter hook forward priority 0; policy {policy};\n{rules}\n }}\n}}\n"


@needs_root
@pytest.mark.parametrize(
    ("rules", "more", "policy", "ports"),
    [
        ("accept", "", "accept", []),
        ('iifname "eth0" drop', "", "accept", [("eth0",)]),
        ('iifname { "eth0", "eth1" } drop', "", "accept", [("eth0", "eth1")]),
        ('drop\niifname "eth0" drop', "", "accept", [()]),  # a rule for all ports is not limited by another rule
        ('iifname "eth0" drop\nip daddr 10.0.0.0/8 drop', "", "accept", [()]),
        ('iifname "eth0" accept', "", "drop", [()]),
        ('iifname "eth0" drop', "", "drop", [()]),
        ('iifname != "eth0" drop', "", "accept", [()]),  # on every other port
        ('iifname "eth0" jump x', "chain x { drop; }\n", "accept", [("eth0",)]),
        ("jump x", 'chain x { oifname "eth1" reject; }\n', "accept", [("eth1",)]),
        ('jump x\niifname "eth0" drop', "chain x { drop; }\n", "accept", [()]),
        ("jump x", "chain x { accept; }\n", "accept", []),
        ('iifname "eth0" jump x\njump x', "chain x { drop; }\n", "accept", [()]),  # the second jump is for all ports
        ('iifname vmap { "eth0" : drop }', "", "accept", [()]),
        ('iifname vmap { "eth0" : accept }', "", "accept", []),
        ("iifname @some drop", "set some { type ifname; }\n", "accept", [()]),
        ('iifname "eth*" drop', "", "accept", [()]),
    ],
)
def test_a_filter_has_the_ports_on_which_it_drops(
    rules: str, more: str, policy: str, ports: list[tuple[str, ...]]
) -> None:
    assert shown(BASE.format(rules=rules, more=more, policy=policy)) == ports
