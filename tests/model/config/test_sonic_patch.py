"""A change of SONiC's tables is a JSON patch (RFC 6902) that leads to the new tables, and back."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from railweave.model.config.apply import apply
from railweave.model.config.compare import compare
from railweave.model.config.tree import Command
from railweave.systems.sonic.changes import TableTree, config_tree
from railweave.systems.sonic.tables import Tables

_VALUES = st.sampled_from(["1", "2", ""]) | st.lists(st.sampled_from("ab"), max_size=2)
_ROWS = st.dictionaries(
    st.sampled_from(["Vlan2", "Vlan2|fc00::1/64", "a~b"]), st.dictionaries(st.sampled_from(["mtu", "x/y"]), _VALUES)
)
TABLES = st.dictionaries(st.sampled_from(["VLAN", "PORT", "VLAN_INTERFACE"]), _ROWS)


def patched(tables: Any, patch: list[Command]) -> Any:
    """RFC 6902 by the letter, for what stands in objects."""
    result = copy.deepcopy(tables)
    for operation in patch:
        assert isinstance(operation, dict)
        *parents, last = [
            part.replace("~1", "/").replace("~0", "~") for part in str(operation["path"]).removeprefix("/").split("/")
        ]
        target = result
        for name in parents:
            target = target[name]
        if operation["op"] in {"remove", "replace"}:
            del target[last]
        if operation["op"] in {"add", "replace"}:
            target[last] = operation["value"]
    return result


def _full(tables: Tables) -> Tables:
    return {name: rows for name, rows in tables.items() if rows}


@given(old=TABLES, new=TABLES)
def test_the_patch_leads_there_and_back(old: Tables, new: Tables) -> None:
    change = compare(config_tree(old), config_tree(new))
    there = patched(_full(old), change.commands)
    assert there == _full(new)
    assert patched(there, change.inverse.commands) == _full(old)
    assert not compare(config_tree(new), TableTree(apply(config_tree(old).nodes, change.steps)))


def test_operations() -> None:
    old: Tables = {"PORT": {"Ethernet0": {"mtu": "9100"}}, "VLAN": {"Vlan2": {}}}
    new: Tables = {"PORT": {"Ethernet0": {"mtu": "9202"}}, "VLAN_INTERFACE": {"Vlan2|fc00::1/64": {}}}
    assert compare(config_tree(old), config_tree(new)).commands == [
        {"op": "remove", "path": "/VLAN"},
        {"op": "replace", "path": "/PORT/Ethernet0/mtu", "value": "9202"},
        {"op": "add", "path": "/VLAN_INTERFACE", "value": {"Vlan2|fc00::1/64": {}}},
    ]


def _disrupted(table: str, row: str, field: str) -> list[str]:
    old, new = ({table: {row: {field: value}}} for value in ("1", "2"))
    return [found.what for _, found in compare(config_tree(old), config_tree(new)).disrupts]


def test_what_the_patch_tool_refuses_needs_a_reload() -> None:
    assert _disrupted("BUFFER_POOL", "ingress_lossless_pool", "xoff") == []
    assert _disrupted("BUFFER_POOL", "ingress_lossless_pool", "mode") == ["everything"]
    assert _disrupted("WRED_PROFILE", "AZURE_LOSSLESS", "green_min_threshold") == []
    assert _disrupted("WRED_PROFILE", "ecn-no-loss", "green_min_threshold") == ["everything"]
    assert _disrupted("PORT", "Ethernet0", "speed") == ["the port"]
    assert _disrupted("PORT", "Ethernet0", "description") == []
