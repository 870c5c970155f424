"""``railweave import`` of networks in the form that others write: hardware that the catalog lacks, spines that share an AS number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from railweave.api import adopt
from railweave.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def _router(name: str, asn: int, loopback: str, links: dict[str, tuple[str, str, int]]) -> str:
    ports = "".join(f"interface {port}\n ip address {own}\nexit\n!\n" for port, (own, _, _) in links.items())
    peers = "".join(f" neighbor {far} remote-as {other}\n" for _, far, other in links.values())
    return (
        f"hostname {name}\n!\n{ports}interface lo\n ip address {loopback}/32\nexit\n!\nrouter bgp {asn}\n bgp router-id {loopback}\n"
        f"{peers} !\n address-family ipv4 unicast\n  network {loopback}/32\n exit-address-family\nexit\n!\n"
    )


def _saved(folder: Path, *, addresses: bool = True) -> Path:
    for leaf in (1, 2):
        up = {f"eth{spine}": (f"10.0.{leaf}{spine}.2/30", f"10.0.{leaf}{spine}.1", 65000) for spine in (1, 2)}
        _write(folder, f"leaf{leaf}", 65100 + leaf, f"10.9.0.{leaf}", up if addresses else {})
    for spine in (1, 2):
        down = {f"eth{leaf}": (f"10.0.{leaf}{spine}.1/30", f"10.0.{leaf}{spine}.2", 65100 + leaf) for leaf in (1, 2)}
        _write(folder, f"spine{spine}", 65000, f"10.9.1.{spine}", down if addresses else {})
    return folder


def _write(folder: Path, name: str, asn: int, loopback: str, links: dict[str, tuple[str, str, int]]) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "configuration.txt").write_text(_router(name, asn, loopback, links))


def test_a_lab_without_hardware_gets_a_stand_in(tmp_path: Path) -> None:
    found = adopt(_saved(tmp_path))
    asns = {one.name: one.asn for one in found.network.switches}
    assert asns == {"leaf1": 65101, "leaf2": 65102, "spine1": 65000, "spine2": 65000}
    assert any("is used instead" in note and "eth1 is " in note for note in found.notes)
    assert any("no configuration shows a server" in note for note in found.notes)
    assert all(one.equivalent for one in found.scores)


def test_nothing_says_who_is_joined_with_whom(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no link between the 4 switches was found"):
        adopt(_saved(tmp_path, addresses=False))
