"""A wrong host.json is refused where it is wrong, and nothing odd in it reaches a command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from railweave.host.commands import main
from railweave.host.failure import HostInputError
from railweave.host.host_file import load
from tests.host.plans import designed, small


def message(folder: Path, document: Any) -> str:
    """What is said about a file, without its name."""
    file = folder / "host.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    with pytest.raises(HostInputError) as caught:
        load(file)
    assert caught.value.exit_code == 2
    return str(caught.value).removeprefix(f"{file}: ")


EVERY = (
    "is every address, so that the rule would take all traffic, the system's too: name the addresses it is for, or leave"
    " this end out where the other one says which traffic is meant"
)
CASES: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (
        lambda d: d.update(schema=2),
        "schema: version 2, but this railweave host reads version 1: use a newer railweave host",
    ),
    (lambda d: d.pop("routes"), "routes is missing"),
    (lambda d: d["nics"][0].pop("mtu"), "nics[0].mtu is missing"),
    (lambda d: d["nics"][0].update(netdev="x; reboot"), 'nics[0].netdev: "x; reboot" is not the name of a device'),
    (lambda d: d["nics"][0].update(netdev="-6"), 'nics[0].netdev: "-6" is not the name of a device'),
    (lambda d: d["nics"].append(d["nics"][0]), "nics: gpu0_eth is there twice"),
    (
        lambda d: d["nics"][0]["addresses"][1].update(prefix="fc00::1/64"),
        'nics[0].addresses[1].prefix: "fc00::1/64" is not a prefix with its host bits 0, such as fc00:1:1:1::/64 or 192.168.1.0/24',
    ),
    (
        lambda d: d["nics"][0]["addresses"][0].update(table_name="main"),
        'nics[0].addresses[0].table_name: "main" is not a name a routing table can have',
    ),
    (
        lambda d: d["routes"][0].update(table=254),
        "routes[0].table: 254 is not a table for routes of ours: 1 to 4294967295 without 253, 254 and 255, the system's",
    ),
    (lambda d: d["routes"][1].pop("via"), "routes[1]: a default route needs a via"),
    (lambda d: d["routes"][0].update(via="10.0.0.1"), "routes[0]: to and via are of two address families"),
    (
        lambda d: d["routes"][1].update(via="fe80::1%eth0"),
        'routes[1].via: "fe80::1%eth0" is not an IP address, such as fc00:1:1:1::1',
    ),
    (lambda d: d["routes"][0].update(dev="eth9"), "routes[0].dev: eth9 is not the netdev of any of nics"),
    (
        lambda d: d["routes"].append({**d["routes"][1], "via": "fc00::2"}),
        "routes[4]: a second route to default in table 10000",
    ),
    (
        lambda d: d["nics"][0]["addresses"][0].update(origin=[]),
        'nics[0].addresses[0].origin: [] is neither "slaac" nor "static"',
    ),
    (lambda d: d["rules"][0].pop("from"), "rules[0]: needs a from or a to: without, it takes all traffic"),
    (lambda d: d["rules"][0].update(priority=-1), "rules[0].priority: -1 is not a whole number, 0 or more"),
    (
        lambda d: d["rules"][0].update({"from": "all"}),
        'rules[0].from: "all" is not an IP address or prefix, such as 192.168.1.1 or fc00:1:1:1::/64',
    ),
    *(
        (
            lambda d, key=key, every=every: d["rules"][0].update({key: every}),
            f'rules[0].{key}: "{every}" {EVERY}',
        )
        for key in ("from", "to")
        for every in ("0.0.0.0/0", "10.0.0.1/0", "::/0", "fc00::/0")
    ),
    (
        lambda d: d["job"].update(environment={"A B": "1"}),
        'job.environment.A B: "A B" is not the name of a variable',
    ),
    (
        lambda d: d["job"].update(environment={"A": 1}),
        "job.environment.A: 1 is not a text, as the value of a variable must be",
    ),
]


@pytest.mark.parametrize(("change", "said"), CASES, ids=[said[:30] for _, said in CASES])
def test_what_is_wrong(tmp_path: Path, change: Callable[[dict[str, Any]], Any], said: str) -> None:
    document = small("gpu0_eth")
    change(document)
    assert message(tmp_path, document) == said


def test_no_json(tmp_path: Path) -> None:
    assert message(tmp_path, "[]") == "the whole file: must be an object {…}"
    assert message(tmp_path, "{").startswith("not JSON: Expecting property name")


def test_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "none.json"
    assert main(["plan", "--host-file", str(file)]) == 2
    assert capsys.readouterr().err == (
        f"error: {file}: not there; put this server's host.json there, or name it with --host-file\n"
    )


@pytest.mark.parametrize(
    ("name", "host", "entries"),
    [("h100-rlb", "H100-04", 96), ("mi300x-leaf-24", "host1", 16), ("mi300x-leaf-31", "host1", 24)],
)
def test_what_the_design_writes(tmp_path: Path, name: str, host: str, entries: int) -> None:
    file = tmp_path / "host.json"
    file.write_text(json.dumps(designed(name, host)))
    plan = load(file)
    assert (plan.host, len(plan.nics), len(plan.entries)) == (host, 8, entries)
