"""Routing policy statements of Enterprise SONiC: prefix lists, community lists, route-maps and BFD profiles."""

from __future__ import annotations

from dataclasses import replace

from railweave.model.config.codecs import NUMBER, choice, defines, refers
from railweave.model.config.statements import Codec, Statements, each, line
from railweave.systems.dell_sonic.statements.qos import ARS
from railweave.systems.dell_sonic.statements.words import PREFIX
from railweave.systems.frr.statements.policy import (
    VERDICT,
    CommunityEntry,
    Policies,
    as_path,
    detection,
    map_entries,
    matched,
    prefix_entries,
    set_communities,
)

COMMUNITY = Codec(r"\d+:\d+", word=r"[^\s:]*:\S*", shown_as="community")
ROUTE_MAPS = "ansible sonic_route_maps"

MAP_ENTRY = (
    *matched(ROUTE_MAPS),
    line("set local-preference <local_preference>", ROUTE_MAPS, local_preference=NUMBER),
    *(replace(row, changed="removed") for row in set_communities(ROUTE_MAPS)),
    # One list, separated by commas (dellemc.enterprise_sonic, examples of sonic_route_maps).
    line("set as-path prepend <prepends>", ROUTE_MAPS, usual=(), changed="removed", prepends=as_path(",")),
    line(
        "set ars-object <shared_by>",
        "assumed: ansible sonic_route_maps has the option ars_object, no example",
        since=ARS,
        shared_by=refers("object"),
    ),
)

POLICIES = Statements(
    Policies,
    (
        detection("ansible sonic_bfd", "ansible sonic_bfd (options)"),
        prefix_entries("ansible sonic_prefix_lists", PREFIX),
        each(
            "bgp community-list standard <name> <permits> <value> <every>",
            "communities",
            "spytest routing/bgp",
            CommunityEntry,
            also=("bgp community-list standard <name> <permits> <value>",),
            name=defines("community-list"),
            permits=VERDICT,
            value=COMMUNITY,
            every=choice({False: "any", True: "all"}),
        ),
        map_entries(ROUTE_MAPS, MAP_ENTRY),
    ),
    disrupts=(),
)
"""The statements about BFD profiles, prefix lists, community lists and route-maps, in the order of ``sonic.cli``."""
