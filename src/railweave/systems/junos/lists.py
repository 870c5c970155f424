"""Which leaves of Junos hold a list, and where the order of a list counts.

A list keeps what it has when ``set`` gives it one more value, also where a single value stands in it: only ``delete`` of a
value takes it away. Whether a leaf is such a list (``leaf-list``) was read from Juniper's published 23.4R2 models
(Juniper/yang, ``junos-qfx/conf-with-extensions``): every leaf of the rendered examples, and every place in the models
where one of the words below stands. ``tests/model/config/test_junos_lists.py`` reads the models again where ``RAILWEAVE_YANG``
names their folder. A place is the leaf's word and the word of the hierarchy around it; names of the user's choosing,
as in ``vlans vn22``, are no hierarchy.
"""

from __future__ import annotations

ANYWHERE = frozenset(
    {
        "as-path-group",
        "code-points",
        "drop-probability",
        "export",
        "fill-level",
        "flow-control-queue",
        "import",
        "input-list",
        "instance-export",
        "instance-import",
        "members",
        "output-list",
        "vlan-id-list",
        "vrf-export",
        "vrf-import",
    }
)
"""Words of leaves that are lists wherever they stand, but for ``ONE_VALUE``."""

ONE_VALUE = frozenset(
    {
        ("vrf-target", "import"),
        ("vrf-target", "export"),
        ("dscp", "import"),
        ("dscp-ipv6", "import"),
        ("exp", "import"),
        ("ieee-802.1", "import"),
        ("ieee-802.1ad", "import"),
        ("inet-precedence", "import"),
        ("fill-level", "drop-probability"),
    }
)
"""Places in which a word of ``ANYWHERE`` has one value."""

BELOW = frozenset(
    {
        *((where, word) for where in ("from", "to") for word in ("as-path", "community", "interface", "neighbor")),
        *((where, word) for where in ("from", "to") for word in ("next-hop", "protocol")),
        ("from", "destination-port"),
        ("pfc-account", "pfc-priority"),
        ("from", "dscp"),
        ("from", "source-port"),
        ("evpn", "extended-vni-list"),
        ("rib-groups", "import-rib"),
        ("route", "community"),
        ("route", "next-hop"),
        ("ssl", "local-certificate"),
        ("system", "authentication-order"),
    }
)
"""Places of lists whose words have one value elsewhere."""

NOT_IN_MODELS = frozenset({"backup-color", "first-byte-of-payload", "rdma-opcode"})
"""Lists of later releases, which Juniper's documentation shows with values in brackets."""

NAMED_BELOW = frozenset(
    {
        "interfaces",
        "vlans",
        "routing-instances",
        "schedulers",
        "scheduler-maps",
        "drop-profiles",
        "congestion-notification-profile",
    }
)
"""Hierarchies in which each statement begins with a name of the user's choosing."""

WITHOUT_HIERARCHY = frozenset(
    {"name-server", "schedulers", "scheduler-maps", "drop-profiles", "congestion-notification-profile"}
)
"""Those, and others printed like them, that are a list with no hierarchy around it: ``delete`` wants the names."""

ORDERED = frozenset(
    {"import", "export", "vrf-import", "vrf-export", "instance-import", "instance-export", "input-list", "output-list"}
)
"""Lists that are asked or applied one after another: policies and filters."""

POSITIONAL = frozenset({"fill-level", "drop-probability"})
"""Lists of values whose places correspond: a changed one is given anew as a whole."""

ORDERED_STATEMENTS = frozenset({"term"})
"""Statements whose order decides what they do, and which ``insert`` moves."""

ORDERED_ACTIONS = frozenset({("then", "community"), ("then", "as-path-prepend")})
"""Actions of a policy that are done one after another: where their order changes, ``then`` is given anew as a whole."""

KEYED_BY_ALL = frozenset({"route-filter", "prefix-list-filter"})
"""Entries that all of their words name, the kind of match included: ``delete`` needs the whole line."""


def is_list(parent: str, word: str) -> bool:
    """Whether the leaf ``word`` in the hierarchy ``parent`` holds a list."""
    if word in ANYWHERE:
        return (parent, word) not in ONE_VALUE
    return (parent, word) in BELOW or word in NOT_IN_MODELS
