"""Router ids by list for some roles, from the pool for the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from railweave.errors import InputError
from tests.conftest import designed
from tests.two_stripes import text

if TYPE_CHECKING:
    from pathlib import Path


def router_ids(folder: Path, *lines: str) -> dict[str, str]:
    network, _ = designed(folder, text(*lines))
    return {one.name: one.router_id for one in network.switches}


def test_the_pool_passes_over_those_of_a_list(tmp_path: Path) -> None:
    """Leaves have the slots 1 to 4, spines 5 and 6: two leaves whose ids went to spines get the spines'."""
    usual = router_ids(tmp_path, "pools: {router_id: 10.0.0.0/24}")
    found = router_ids(tmp_path, 'pools: {router_id: 10.0.0.0/24, router_ids: {spine: "10.0.0.[1-2]"}}')
    assert (found["spine1"], found["spine2"]) == ("10.0.0.1", "10.0.0.2")
    assert len(set(found.values())) == len(found)
    kept = [name for name in found if found[name] == usual[name]]
    assert len(kept) == len(found) - 4


def test_a_list_that_crosses_itself(tmp_path: Path) -> None:
    found = router_ids(tmp_path, 'pools: {router_id: 10.0.0.0/24, router_ids: {spine: "10.0.0.[4-5]"}}')
    assert len(set(found.values())) == len(found)


def test_one_router_id_twice_names_the_list(tmp_path: Path) -> None:
    lists = 'pools: {router_id: 10.0.0.0/24, router_ids: {spine: "10.0.0.[1-2]", leaf: "10.0.0.[2-5]"}}'
    with pytest.raises(InputError, match=r"fabric.yaml:8: .*duplicate router id 10.0.0.2"):
        router_ids(tmp_path, lists)
