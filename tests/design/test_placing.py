"""Which stripe a server is in: where the file says, else where the lock has it, else spread."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from railweave.errors import DesignError
from railweave.model.intent.lock import Lock
from railweave.model.network.model import Network
from tests.conftest import designed

TEXT = """
name: t
fabrics:
  f:
    topology: {{stripes: {stripes}, leaves_per_stripe: 1, spines: 2, oversubscription: 64}}
    leaf: {{device: qfx5240-64od}}
servers:
  - {{names: "a[1-{servers}]", model: h100-8gpu-cx7}}
"""


def _stripes(network: Network) -> list[str]:
    return [server.nics[0].stripe for server in network.servers]


def _counts(network: Network) -> dict[str, int]:
    return dict(Counter(_stripes(network)))


def _empty(network: Network) -> list[str]:
    return [one.what for one in network.findings if one.id == "stripe-empty"]


@pytest.mark.parametrize(
    ("stripes", "servers", "counts"),
    [(1, 6, [6]), (2, 6, [3, 3]), (2, 7, [4, 3]), (3, 7, [3, 3, 1]), (4, 4, [1, 1, 1, 1])],
)
def test_servers_are_spread_over_the_stripes_in_order(
    tmp_path: Path, stripes: int, servers: int, counts: list[int]
) -> None:
    network, _ = designed(tmp_path, TEXT.format(stripes=stripes, servers=servers))
    assert _counts(network) == {f"stripe{n}": count for n, count in enumerate(counts, 1)}
    assert _stripes(network) == sorted(_stripes(network))  # neighbors in the file are neighbors on leaves
    assert _empty(network) == []


def test_a_number_of_servers_per_stripe_fills_one_after_another(tmp_path: Path) -> None:
    text = TEXT.format(stripes="2, servers_per_stripe: 5", servers=6)
    assert _counts(designed(tmp_path, text)[0]) == {"stripe1": 5, "stripe2": 1}


def test_a_server_stays_where_the_lock_has_it_and_new_ones_go_where_there_are_few(tmp_path: Path) -> None:
    first, lock = designed(tmp_path, TEXT.format(stripes=1, servers=4))
    assert _counts(first) == {"stripe1": 4}
    wider, lock = designed(tmp_path, TEXT.format(stripes=2, servers=4), lock)
    assert _counts(wider) == {"stripe1": 4}
    assert _empty(wider) == ["stripe 'stripe2' has no servers: fabric.lock keeps earlier servers where they are"]
    grown, lock = designed(tmp_path, TEXT.format(stripes=2, servers=8), lock)
    assert _counts(grown) == {"stripe1": 4, "stripe2": 4}
    assert _stripes(grown)[:4] == ["stripe1"] * 4


def test_a_lock_that_holds_more_in_a_stripe_than_the_file_wants_is_an_error_with_the_ways_out(tmp_path: Path) -> None:
    _, lock = designed(tmp_path, TEXT.format(stripes=1, servers=4))
    wanted = TEXT.format(stripes="2, servers_per_stripe: 2", servers=4)
    with pytest.raises(DesignError) as refused:
        designed(tmp_path, wanted, lock)
    said = str(refused.value)
    assert "fabric.yaml:5" in said
    assert "servers_per_stripe is 2, but fabric.lock keeps 4 earlier servers in 'stripe1'" in said
    for text in (
        wanted.replace("servers_per_stripe: 2", "servers_per_stripe: 4"),
        wanted.replace('"a[1-4]", model: h100-8gpu-cx7}', '"a[1-2]", model: h100-8gpu-cx7}\n  - {names: "a[3-4]", model: h100-8gpu-cx7, stripe: stripe2}'),
    ):  # fmt: skip
        designed(tmp_path, text, lock)
    anew = Lock({pool: slots for pool, slots in lock.pools.items() if "/servers/" not in pool})
    assert _counts(designed(tmp_path, wanted, anew)[0]) == {"stripe1": 2, "stripe2": 2}


def test_servers_that_all_name_a_stripe_which_is_not_there_are_an_error(tmp_path: Path) -> None:
    text = TEXT.format(stripes=2, servers=2).replace("h100-8gpu-cx7}", "h100-8gpu-cx7, stripe: stripe9}")
    with pytest.raises(DesignError, match="stripe 'stripe9' is not in fabric 'f'"):
        designed(tmp_path, text)
