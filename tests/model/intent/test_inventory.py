"""The inventory: what hardware was delivered."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.errors import SpecError
from railweave.model.intent.inventory import COLUMNS, Item, read_inventory

HEADER = ",".join(COLUMNS) + "\n"


def read(folder: Path, text: str) -> dict[tuple[str, str], Item]:
    file = folder / "pod1.inventory.csv"
    file.write_text(text, encoding="utf-8")
    return read_inventory(file).items


def problems(folder: Path, text: str) -> list[tuple[int, str]]:
    with pytest.raises(SpecError) as caught:
        read(folder, text)
    assert {problem.place.file for problem in caught.value.problems} == {str(folder / "pod1.inventory.csv")}
    assert all(problem.fix for problem in caught.value.problems)
    return [(problem.place.line, problem.what) for problem in caught.value.problems]


def test_a_whole_row(tmp_path: Path) -> None:
    row = "gpu-01,gpu0_eth,A0-88-C2-3B-50-66,SN1,ens1np0,mlx5_0,12.5m\n"
    assert read(tmp_path, HEADER + row) == {
        ("gpu-01", "gpu0_eth"): Item("a0:88:c2:3b:50:66", "SN1", "ens1np0", "mlx5_0", 12.5, 2)
    }


def test_columns_in_any_order_and_not_all(tmp_path: Path) -> None:
    items = read(tmp_path, "mac,device,interface\n58:11:22:33:44:55,gpu-01,gpu0_eth\n")
    assert items["gpu-01", "gpu0_eth"].mac == "58:11:22:33:44:55"


def test_comments_blank_lines_and_spaces(tmp_path: Path) -> None:
    items = read(tmp_path, HEADER + "# delivered in May\n\n  # and June\n,,,,,,\n gpu-01 , gpu0_eth ,,,,,  3 m\n")
    assert items == {("gpu-01", "gpu0_eth"): Item(length_m=3.0, line=6)}


def test_a_short_row(tmp_path: Path) -> None:
    assert read(tmp_path, HEADER + "spine1,,,SN9\n") == {("spine1", ""): Item(serial="SN9", line=2)}


def test_nothing_is_known_of_the_rest(tmp_path: Path) -> None:
    assert read_inventory(tmp_path / "none.inventory.csv").get("gpu-01", "gpu0_eth") == Item()


@pytest.mark.parametrize("length", ["", "0", "0m"])
def test_no_length_is_not_a_length(tmp_path: Path, length: str) -> None:
    assert read(tmp_path, HEADER + f"a,b,,,,,{length}\n")["a", "b"].length_m is None


@pytest.mark.parametrize(
    "mac",
    [
        "a0:88:c2:3b:50",
        "a0:88:c2:3b:50:6g",
        "a0:88:c2:3b:50:66:77",
        "a088.c23b.5066",
        "a088c23b5066",
        "a0 88 c2 3b 50 66",
    ],
)
def test_bad_mac(tmp_path: Path, mac: str) -> None:
    assert problems(tmp_path, HEADER + f"a,b,{mac},,,,\n") == [(2, f"{mac!r} is not a MAC address")]


@pytest.mark.parametrize("length", ["long", "-3", "3ft", "1e3", "1,5"])
def test_bad_length(tmp_path: Path, length: str) -> None:
    assert problems(tmp_path, HEADER + f'a,b,,,,,"{length}"\n') == [(2, f"{length!r} is not a length")]


@pytest.mark.parametrize(
    ("header", "what"),
    [
        ("device,interface,port", "unknown column 'port'"),
        ("Device,interface", "unknown column 'Device'"),
        ("interface,mac", "the first line must contain the names of the columns"),
        ("", "the first line must contain the names of the columns"),
    ],
)
def test_bad_columns(tmp_path: Path, header: str, what: str) -> None:
    assert problems(tmp_path, f"{header}\na,b\n") == [(1, what)]


def test_duplicates_name_the_first_line(tmp_path: Path) -> None:
    rows = "a,b,a0:88:c2:3b:50:66,,,,\n# between\na,c,A0:88:C2:3B:50:66,,,,\na,b,,,,,\n"
    with pytest.raises(SpecError) as caught:
        read(tmp_path, HEADER + rows)
    assert [(problem.place.line, problem.what, problem.fix) for problem in caught.value.problems] == [
        (4, "duplicate MAC address a0:88:c2:3b:50:66", "it is first given on line 2"),
        (5, "duplicate entry for a:b", "it is first given on line 2"),
    ]


def test_every_bad_row_is_named(tmp_path: Path) -> None:
    assert problems(tmp_path, HEADER + "a,b,x,,,,y\na,c,z,,,,\n") == [
        (2, "'x' is not a MAC address"),
        (2, "'y' is not a length"),
        (3, "'z' is not a MAC address"),
    ]
