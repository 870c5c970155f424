"""``compare`` gives the commands that turn one Junos tree into another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave.model.config.compare import compare as compare_trees
from railweave.systems.junos.changes import config_tree
from railweave.systems.junos.parse import parse
from railweave.systems.junos.tree import Statement, block, choices, entry, leaf, set_paths


def compare(old: list[Statement], new: list[Statement]) -> list[str]:
    """The lines of configuration mode from one to the other."""
    return [str(line) for line in compare_trees(config_tree(old), config_tree(new)).commands]


def _tree(*parts: Statement | None) -> list[Statement]:
    return [part for part in parts if part is not None]


def test_a_value_is_replaced_without_delete() -> None:
    old = _tree(block("interfaces", block(("et-0/0/0",), leaf("mtu", 9216))))
    new = _tree(block("interfaces", block(("et-0/0/0",), leaf("mtu", 9000))))
    assert compare(old, new) == ["set interfaces et-0/0/0 mtu 9000"]


def test_list_entries_are_deleted_and_set_one_by_one() -> None:
    old = _tree(block("prefix-list local", entry("10.0.0.0/8"), entry("fc00::/16")))
    new = _tree(block("prefix-list local", entry("fc00::/16"), entry("fd00::/16")))
    assert compare(old, new) == ["delete prefix-list local 10.0.0.0/8", "set prefix-list local fd00::/16"]


def test_values_of_a_list_leaf() -> None:
    old, new = _tree(choices("backup-color", ["blue", "red"])), _tree(choices("backup-color", ["red", "orange"]))
    assert compare(old, new) == ["delete backup-color blue", "set backup-color orange"]


def test_a_whole_branch_goes_with_one_delete() -> None:
    old = _tree(
        block(
            "vlans",
            block(("vn2",), leaf("vlan-id", 2), leaf("l3-interface", "irb.2")),
            block(("vn3",), leaf("vlan-id", 3)),
        )
    )
    new = _tree(block("vlans", block(("vn3",), leaf("vlan-id", 3))))
    assert compare(old, new) == ["delete vlans vn2"]


def test_a_new_term_is_inserted_where_it_belongs() -> None:
    def policy(*terms: str) -> list[Statement]:
        return _tree(
            block("policy-statement p", [block(("term", name), block("then", leaf("accept"))) for name in terms])
        )

    assert compare(policy("a", "c"), policy("a", "b", "c")) == [
        "set policy-statement p term b then accept",
        "insert policy-statement p term b before term c",
    ]


def test_an_ordered_list_is_given_anew() -> None:
    """``set`` appends: [ 55 90 ] to [ 40 90 ] value by value would end as [ 90 40 ]."""
    old, new = _tree(choices("fill-level", [55, 90])), _tree(choices("fill-level", [40, 90]))
    assert compare(old, new) == ["delete fill-level", "set fill-level 40", "set fill-level 90"]


def test_a_one_line_entry_is_deleted_by_its_name() -> None:
    """``delete … server X routing-instance Y`` would take the attribute and leave the server."""
    old = _tree(block("ntp", entry("server", "192.0.2.3", "routing-instance", "mgmt_junos", key=2)))
    new = _tree(block("ntp", entry("server", "192.0.2.9", "routing-instance", "mgmt_junos", key=2)))
    assert compare(old, new) == [
        "delete ntp server 192.0.2.3",
        "set ntp server 192.0.2.9 routing-instance mgmt_junos",
    ]


def test_a_changed_one_line_entry_is_made_anew() -> None:
    old, new = _tree(entry("class", "CNP", "queue-num", 3, key=2)), _tree(entry("class", "CNP", "queue-num", 5, key=2))
    assert compare(old, new) == ["delete class CNP", "set class CNP queue-num 5"]


def test_words_with_spaces_are_quoted() -> None:
    assert set_paths(leaf("description", "hall 1, row 2")) == [("description", '"hall 1, row 2"')]
    assert set_paths(leaf("message", "a|b?")) == [("message", '"a|b?"')]
    [statement] = parse('description "hall 1; { \\"x\\" }";')
    assert statement.words == ("description", 'hall 1; { "x" }')


_NAMES = st.sampled_from(["alpha", "beta", "gamma"])
_LEAVES = st.builds(leaf, st.sampled_from(["mtu", "speed"]), st.integers(1, 3))
_TREES = st.recursive(
    st.lists(_LEAVES, min_size=1, max_size=2, unique_by=lambda one: one.words),
    lambda children: st.dictionaries(_NAMES, children, min_size=1, max_size=3).map(
        lambda found: [one for name, inner in found.items() if (one := block((name,), inner)) is not None]
    ),
    max_leaves=8,
)


def _apply(tree: list[Statement], commands: list[str]) -> set[tuple[str, ...]]:
    """What is configured after the commands, as paths: a small Junos in which mtu and speed hold one value."""
    paths = {path for one in tree for path in set_paths(one)}
    for command in commands:
        verb, *words = command.split()
        path = tuple(words)
        if verb == "delete":
            paths = {one for one in paths if one[: len(path)] != path}
        elif path[-2:-1] in {("mtu",), ("speed",)}:
            paths = {one for one in paths if one[:-1] != path[:-1]} | {path}
        else:
            paths.add(path)
    return paths


@given(old=_TREES, new=_TREES)
def test_applying_the_commands_gives_the_new_tree(old: list[Statement], new: list[Statement]) -> None:
    wanted = {path for one in new for path in set_paths(one)}
    assert _apply(old, compare(old, new)) == wanted


@given(tree=_TREES)
def test_no_commands_between_equal_trees(tree: list[Statement]) -> None:
    assert compare(tree, tree) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("system {\n host-name x;\n", "line 1: the '{' of 'system' is not closed"),
        ("host-name x", "line 1: 'host-name x' is not ended by ';'"),
        ("a {\n b;\n}\n}\n", "line 4: unexpected '}'"),
        ("a [ b c;", "line 1: a '[' is not closed"),
    ],
)
def test_malformed_statements_are_refused_with_their_line(text: str, message: str) -> None:
    from railweave.errors import RenderError

    with pytest.raises(RenderError) as caught:
        parse(text)
    assert str(caught.value) == message
