"""The bill of materials in watts and money: nothing is invented where nobody says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from railweave.cli.app import app
from railweave.errors import InputError
from railweave.outputs.report.body import bill_table
from railweave.outputs.report.bom import Item, Power, Prices, bill, cost, power, read_prices
from tests.conftest import designed

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.model.network.model import Network

PRICES = """\
currency: EUR
prices: {ais800-64o: 30000, dgx-b200: 400000, osfp-400g-sr4: 900.5}
fibre_per_metre: 2
"""


@pytest.fixture
def network(tmp_path: Path) -> Network:
    text = """\
name: priced
fabrics:
  backend:
    topology: {stripes: 1, leaves_per_stripe: 1, spines: 4, links_per_spine: 4}
    leaf: {device: ais800-64o, nos: sonic}
servers: [{names: "gpu-[1-2]", model: dgx-b200}]
"""
    return designed(tmp_path, text)[0]


def test_power_is_totalled_by_kind_and_what_is_not_known_is_named(network: Network) -> None:
    found = power(bill(network))
    assert found.watts["switch"] == 5 * 3000
    assert found.watts["server"] == 2 * 14300
    assert found.watts["pluggable"] == 16 * 9  # of the NICs; those of switches are not known
    assert found.unknown == ("osfp-800g-2x400g-sr4",)
    assert power([Item("switch", "x", 2, "", "", None)]) == Power({}, ("x",))


def test_cost_is_that_of_what_has_a_price(network: Network) -> None:
    items = [
        Item("switch", "a", 2, "", ""),
        Item("fibre cable", "multimode fibre, 10 m", 3, "", ""),
        Item("NIC", "b", 9, "", ""),
    ]
    found = cost(items, Prices(currency="EUR", prices={"a": 100.5}, fibre_per_metre=2))
    assert (found.total, found.unpriced) == (261, ("b",))
    assert str(found) == "261 EUR, without b: no price is given"


def test_the_table_has_columns_for_what_is_known(network: Network, tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text(PRICES)
    titles = [one["title"] for one in bill_table(network)["columns"]]
    assert "Watts at most" in titles
    assert not [one for one in titles if one.startswith(("Each", "All"))]
    table = bill_table(network, read_prices(tmp_path / "prices.yaml"))
    assert [one["title"] for one in table["columns"]][-2:] == ["Each, EUR", "All, EUR"]
    text = json.dumps(table)
    assert "power at most: switches 15.0 kW, servers 28.6 kW, pluggables 0.1 kW" in text
    assert "no price is given" in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prices: {a: 1}", "'currency' is missing"),
        ("currency: EUR\nprices: {a: dear}", "prices.yaml:2: prices.a: 'dear'"),
        (
            "currency: EUR\nprices: {a: -1}",
            "prices.yaml:2: prices.a: -1 is not allowed: the value must be at least 0",
        ),
    ],
)
def test_a_wrong_file_is_said_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "prices.yaml").write_text(text)
    with pytest.raises(InputError) as error:
        read_prices(tmp_path / "prices.yaml")
    assert said in str(error.value)


def test_sizing_says_what_each_shape_costs(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text(PRICES)
    words = ("--gpus", "32", "--nic", "dgx-b200", "--switch", "ais800-64o", "--prices", str(tmp_path / "prices.yaml"))
    done = CliRunner().invoke(app, ["init", str(tmp_path / "x"), *words, "--json"], catch_exceptions=False)
    costs = json.loads(done.output)["costs"]
    assert "one leaf" in costs
    assert all("EUR, without connectx-7, " in one for one in costs.values())
