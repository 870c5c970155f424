"""The console's pages, what they are kept up to date by, and who may read them."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from railweave.errors import InputError
from railweave.model.findings import Finding
from railweave.model.state.telemetry import Series
from railweave.operations.deploy import journal
from railweave.operations.watch.app import app, shown
from railweave.operations.watch.console import history
from railweave.operations.watch.console.frame import STATIC, address, events
from railweave.operations.watch.console.guard import Proxy
from railweave.operations.watch.console.history import WHOLE
from railweave.operations.watch.console.links import level
from railweave.operations.watch.console.state import Console
from railweave.operations.watch.console.view import ago, per_second, percent, rate, size
from railweave.operations.watch.starting import proxy_of, serving_of
from railweave.operations.watch.syslog import Syslog
from railweave.operations.watch.watching import WatchedNetwork
from tests.conftest import ROOT, example
from tests.operations.watch.traffic import Traffic, filled, network_watched

PAGES = ("/", "/anomalies", "/devices", "/path", "/rails", "/history", "/devices/stripe1-leaf1", "/devices/H100-01")
HERE = "http://127.0.0.1:8484"
LEAF = "stripe1-leaf2"
NAN = float("nan")


def asked(
    application: Any, where: str, *, base: str = HERE, client: str = "127.0.0.1", method: str = "GET", **more: Any
) -> httpx.Response:
    """The answer of an application to one request."""

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app=application, client=(client, 40000))
        async with httpx.AsyncClient(transport=transport, base_url=base) as session:
            return await session.request(method, where, **more)

    return asyncio.run(ask())


@pytest.fixture
def watching(tmp_path: Path) -> WatchedNetwork:
    return network_watched(example("h100-rlb"), fabric=tmp_path / "h100-rlb.yaml")


@pytest.fixture(scope="module")
def application() -> Any:
    own = network_watched(example("h100-rlb"))
    made = app(own)
    asyncio.run(filled(own))
    return made


def wrong(watching: WatchedNetwork, at: float = 0.0) -> list[Finding]:
    """A port that is down, and the session that is for that reason."""
    port = watching.validator.expected[LEAF].ports[-1]
    where = f"{LEAF} {port.name}"
    found = [
        Finding("port-down", "error", where, f"<b>{port.name}</b> is down", "why", "fix", "h100-rlb.yaml", 2, "description: <&>"),
        Finding("bgp-down", "info", where, "the session is not there", f"it follows from port-down at {where}", "mend the cause first"),
    ]  # fmt: skip
    watching.anomalies.see(found, at or time.time())
    return found


@pytest.mark.parametrize("where", PAGES)
def test_a_page_is_right_as_it_comes(application: Any, where: str) -> None:
    answer = asked(application, where)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy, "no script that is written into a page runs"
    assert "<meta http-equiv" not in answer.text, "the policy is in the header"
    assert not re.search(r"<script(?![^>]*src=\"/static/)|\son\w+=|https?://(?!www.w3.org)", answer.text)
    for loaded in re.findall(r'(?:src|href)="(/static/[^"]+)"', answer.text):
        assert asked(application, loaded).status_code == 200
    assert answer.text.count('aria-current="page"') == 1
    keys = re.findall(r'data-live(?:-\w+)?="([^"]+)"', answer.text)
    assert keys


def test_a_device_with_what_it_said_by_syslog(watching: WatchedNetwork) -> None:
    assert "Syslog" not in asked(app(watching), f"/devices/{LEAF}").text
    watching.syslog = Syslog("127.0.0.1", 514, {LEAF: "192.0.2.1"})
    watching.syslog.take(b"<189>Nov 23 10:00:00 x UI_COMMIT_COMPLETED: <b>", "192.0.2.1")
    shown = asked(app(watching), f"/devices/{LEAF}").text
    assert "UI_COMMIT_COMPLETED: &lt;b&gt;" in shown
    assert "configuration" in shown


@pytest.mark.parametrize("name", ["aidc-three-fabrics", "dci-50km", "evpn-functional", "mi300x-leaf-24"])
def test_pages_of_other_networks(name: str) -> None:
    """Several fabrics, routers outside and between sites, tenants, no path colors, no spines."""
    own = network_watched(example(name))
    made = app(own)
    asyncio.run(filled(own, 20))
    network = own.validator.network
    for where in (
        "/",
        "/devices",
        "/path",
        "/rails",
        "/history",
        f"/devices/{network.switches[0].name}",
        f"/devices/{network.servers[-1].name}",
    ):
        answer = asked(made, where)
        assert answer.status_code == 200
        assert 'class="wrong"' not in answer.text
    assert asked(made, "/").text.count('scope="row" class="color"') == len(
        {(one.fabric, one.kind, one.color) for one in network.cables}
    )
    assert asked(made, "/rails").text.count('class="heat"') == len(network.fabrics)


def test_every_live_value_of_a_page_is_known_to_it(application: Any, watching: WatchedNetwork) -> None:
    console = Console(watching)
    asyncio.run(filled(watching))
    for where in PAGES:
        page = shown(console, where, {})
        assert page is not None
        alone = shown(console, where, {}, markup=False)
        assert alone is not None
        assert alone.live == page.live
        markup = "".join(page.main)
        keys = set(re.findall(r'data-live(?:-\w+)?="([^"]+)"', markup))
        assert keys <= page.live.keys()
        drawn = {one for one in page.live if re.match("(link|bundle|device|group)/|tick$", one)}
        assert page.live.keys() - drawn <= keys, "nothing is sent that no element shows"


def test_what_the_pages_say(application: Any) -> None:
    topology = asked(application, "/").text
    assert 'data-link="0"' in topology
    assert "97 %" in topology, "the hot link is the busiest of its color"
    path = asked(application, "/path?src=H100-01:gpu0_eth&dst=H100-03:gpu0_eth&qps=2").text
    assert path.count("Queue pair ") == 2
    assert re.search(r'/queue"[^>]*>\d[\d.]* [kM]?B<', path), "a hop has what stands in its queue"
    assert "there is no server" in asked(application, "/path?src=nobody:x&dst=H100-03:gpu0_eth").text
    device = asked(application, "/devices/stripe1-leaf1").text
    assert "1,250" in device, "a NIC pauses its leaf"
    assert device.count(">established<") == 4
    for missing in ("/devices/nobody", "/devices/", "/nothing", "/static/0/page.css", address("page.css") + "x"):
        assert asked(application, missing).status_code == 404
    assert [one for one in STATIC if asked(application, address(one)).content != STATIC[one]] == []
    rails = asked(application, "/rails?of=paused").text
    assert rails.count("<td class=") == 16
    assert 'aria-current="true" class="choice-link"' in rails or 'class="choice-link"' in rails


def test_links_are_measured_from_either_end(watching: WatchedNetwork) -> None:
    console = Console(watching)
    asyncio.run(filled(watching))
    one = watching.validator.network.cables[console.links.colors[0].places[3]]
    expected = Traffic(watching).share(one.name, console.at - 5)
    place = console.links.places[one.name]
    assert console.load[place] == pytest.approx(expected, rel=0.1)
    leaf = watching.collector.devices[one.a.device]
    leaf.stream.forget()
    console.measured(time.time())
    assert console.load[place] == pytest.approx(expected, rel=0.1), "its other end says it too"
    watching.collector.devices[one.b.device].stream.forget()
    console.measured(time.time())
    assert np.isnan(console.load[place]), "what nobody says is not zero"
    assert [level(share) for share in (NAN, 0, 0.05, 0.3, 0.5, 0.7, 0.9)] == [
        "unknown",
        "l0",
        "l1",
        "l2",
        "l3",
        "l4",
        "l5",
    ]


def test_a_counter_that_falls_has_no_rate(watching: WatchedNetwork) -> None:
    console = Console(watching)
    stream, port = watching.collector.devices[LEAF].stream, watching.validator.expected[LEAF].ports[0].name
    for at, count in ((100, 1000), (110, 6000), (120, 50), (130, 1050)):
        stream.offer(
            [
                (Series("in_octets", port), count),
                (Series("queue_dropped", port, "3"), count),
                (Series("queue_dropped", port, "4"), 0),
            ],
            at * 10**9,
            at,
        )
        stream.end_round(at)
        console.measured(at)
        rates = {100: NAN, 110: 500.0, 120: NAN, 130: 100.0}
        assert console.ports.of(LEAF, port)["received"] == pytest.approx(rates[at], nan_ok=True)
    assert console.ports.of(LEAF, port)["drops"] == 100, "queues are added up"
    assert np.isnan(console.ports.of(LEAF, port)["marks"])
    assert np.isnan(console.ports.of("nobody", port)["received"])  # fmt: skip


def test_an_anomaly_with_its_evidence_and_the_field_of_the_fabric_file(watching: WatchedNetwork) -> None:
    wrong(watching, time.time() - 60)
    wrong(watching)
    made = app(watching)
    text = asked(made, "/anomalies").text
    assert text.count('<article class="card anomaly error"') == 1, "what follows stands below its cause"
    assert "This explains 1 more anomaly" in text
    assert "h100-rlb.yaml:2 description: &lt;&amp;&gt;" in text
    assert "<b>" not in text.partition("<article")[2].partition("</article>")[0], "what devices say is escaped"
    assert f'href="/devices/{LEAF}"' in text
    topology = shown(Console(watching), "/", {})
    assert topology is not None
    link = watching.validator.expected[LEAF].ports[-1].link
    place = next(place for place, one in enumerate(watching.validator.network.cables) if one.name == link)
    assert topology.live[f"link/{place}"].split("|")[0] == "unknown error"
    assert topology.live[f"device/{LEAF}"] == "error"
    assert "1 error<" in text, "every page says how many there are"


async def first(stream: Any, count: int) -> list[bytes]:
    found: list[bytes] = []
    async for one in stream:
        found.append(one)
        if len(found) == count:
            return found
    return found


def test_only_what_has_changed_is_sent(watching: WatchedNetwork) -> None:
    console = Console(watching)

    async def run() -> tuple[dict[str, str], dict[str, str], bytes]:
        await filled(watching, 20)

        def live() -> dict[str, str] | None:
            found = shown(console, "/devices", {})
            return None if watching.fabric is None or found is None else found.live

        stream = events(console, live)
        retry, whole = await first(stream, 2)
        assert retry.startswith(b"retry:")
        stream = events(console, live)
        await first(stream, 1)
        told = [await anext(stream)]
        watching.collector.devices[LEAF].sources[0].reached.turn(up=False, why="gone")
        console.measured(time.time())
        told.append(await anext(stream))
        watching.fabric = None
        console.measured(time.time())
        last = await anext(stream)
        console.close()
        assert [one async for one in events(console, live)] == [b"retry: 2000\n\n"], "it ends with the watch"
        parsed = [json.loads(one.partition(b"data: ")[2])["values"] for one in told]
        assert json.loads(whole.partition(b"data: ")[2])["values"].keys() == parsed[0].keys()
        return parsed[0], parsed[1], last

    whole, change, last = asyncio.run(run())
    assert len(whole) > 20 * 8
    assert set(change) <= {f"{LEAF}/state", f"{LEAF}/wrong", "around", "around-at"}
    assert "gone" in change[f"{LEAF}/state"]
    assert last.startswith(b"event: gone")


def test_the_past_is_kept_with_the_samples_and_in_memory(tmp_path: Path) -> None:
    own = network_watched(example("h100-rlb"), tmp_path / "samples.sqlite")

    async def run() -> Console:
        console = Console(own)
        await filled(own, 60)
        while console.past._writing:
            await asyncio.gather(*console.past._writing)
        return console

    console = asyncio.run(run())
    assert own.store is not None
    carried = own.store.samples(WHOLE, since=time.time() - 100, until=time.time() + 1, metrics=["out_octets"])
    assert {one.series.index for one in carried} == {"blue", "green", "orange", "red"}
    data = history.chart_data(console, 900)
    assert len(data["times"]) >= 5
    assert [one["label"] for one in data["charts"]["carried"]] == ["blue", "green", "orange", "red"]
    again = Console(own)
    assert history.chart_data(again, 900)["times"] == data["times"], "it outlives the process"
    answer = asked(app(own), "/api/history?span=900").json()
    assert answer["times"] == data["times"]
    assert answer["until"] - answer["since"] == pytest.approx(900)


def test_deploys_and_jobs_stand_on_the_time_axis(watching: WatchedNetwork, tmp_path: Path) -> None:
    from railweave.operations.store.records import Run
    from railweave.operations.store.store import opened

    now = time.time()
    fabric = tmp_path / "h100-rlb.yaml"
    with journal.at_work(fabric) as book:
        book._database.execute(
            "INSERT INTO revisions (label, plan, digest, who, began, ended, state) VALUES ('more leaves', '{}', 'x', 'me', ?, ?, 'stopped')",
            (now - 500, now - 400),
        )
        book._database.commit()
    iso = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - 300))
    with opened(tmp_path / "runs.sqlite", make=True) as store:
        store.add([Run("nccl-tests", "all-reduce of 8 nodes", "f", "d", 1, iso, iso)])
    wrong(watching)
    console = Console(watching, str(tmp_path / "runs.sqlite"))
    found = [(one.kind, one.title) for one in history.events(console, 900)]
    assert found[:2] == [("deploy", "revision 1 (more leaves): stopped"), ("job", "nccl-tests: all-reduce of 8 nodes")]
    assert found[2][0] == "anomaly"
    assert len(found) == 3, "what follows from an anomaly is no event of its own"
    assert [one.kind for one in history.events(console, 350)] == ["job", "anomaly"]
    page = asked(app(watching, runs=str(tmp_path / "runs.sqlite")), "/history?span=900").text
    assert "all-reduce of 8 nodes" in page
    assert 'class="error">revision 1' in page


def test_nothing_can_be_changed(application: Any) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        answer = asked(application, "/anomalies", method=method)
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
    assert asked(application, "/", method="HEAD").status_code == 200


@pytest.mark.parametrize("name", ["evil.example", "evil.example:8484", "127.0.0.1.evil.example", "10.0.0.1:8484", ""])
def test_another_name_for_this_machine_is_refused(application: Any, name: str) -> None:
    assert asked(application, "/api/anomalies", headers={"host": name}).status_code == 421


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST:9", "127.0.0.1", "127.8.8.8:1", "[::1]:8484", "[::1]"])
def test_a_name_of_loopback_is_not(application: Any, name: str) -> None:
    assert asked(application, "/api/anomalies", headers={"host": name}).status_code == 200


def basic(password: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"anyone:{password}".encode()).decode()}


def test_a_password_or_a_proxy_beyond_loopback(watching: WatchedNetwork) -> None:
    by_password = app(watching, "a good one")
    every = ("/", "/events", "/api/history", "/metrics", address("page.css"))
    for where in every:
        assert asked(by_password, where, base="http://console.example").status_code == 401
        assert asked(by_password, where, headers=basic("another")).status_code == 401
        assert asked(by_password, where, headers={"x-remote-user": "me"}).status_code == 401
    assert asked(by_password, "/", base="http://console.example", headers=basic("a good one")).status_code == 200
    by_proxy = app(watching, proxy=Proxy("10.0.0.5", "X-Remote-User"))
    user = {"x-remote-user": "me"}
    for client, headers, status in (("10.0.0.5", user, 200), ("::ffff:10.0.0.5", user, 200), ("10.0.0.5", {}, 403), ("10.0.0.5", {"x-remote-user": " "}, 403), ("10.0.0.6", user, 403), ("127.0.0.1", user, 403)):  # fmt: skip
        assert asked(by_proxy, "/", client=client, headers=headers).status_code == status
    both = app(watching, "a good one", proxy=Proxy("10.0.0.5", "X-Remote-User"))
    assert asked(both, "/", client="10.0.0.5", headers=user).status_code == 200
    assert asked(both, "/", client="10.0.0.6", headers=user).status_code == 401
    assert asked(both, "/", client="10.0.0.6", headers=basic("a good one")).status_code == 200


def test_a_proxy_is_named_by_its_address_and_header() -> None:
    assert proxy_of("[fd00::5]=X-Remote-User") == Proxy("fd00::5", "X-Remote-User")
    for bad in ("X-Remote-User", "10.0.0.5", "10.0.0.5=", "10.0.0.5=A B", "proxy=X", "10.0.0.5=X: y"):
        with pytest.raises(InputError, match="it does not have the form ADDRESS=HEADER"):
            proxy_of(bad)
    with pytest.raises(InputError, match="others could read it"):
        serving_of("0.0.0.0:8484", None, None, None)
    assert serving_of("0.0.0.0:8484", None, "10.0.0.5=X-Remote-User", None) is not None


def test_numbers_in_words() -> None:
    assert [rate(one) for one in (NAN, 0, 7, 940e6, 391.4e9, 25.6e12, 4e15)] == [
        "–",
        "0",
        "7 b/s",
        "940 Mb/s",
        "391 Gb/s",
        "25.6 Tb/s",
        "4,000 Tb/s",
    ]
    assert [percent(one) for one in (NAN, 0, 0.001, 0.87)] == ["–", "0 %", "<1 %", "87 %"]
    assert [per_second(one) for one in (NAN, 0, 0.42, 1250)] == ["–", "0", "0.4", "1,250"]
    assert [size(one) for one in (NAN, 0, 18e3, 1.2e6)] == ["–", "0", "18 kB", "1.2 MB"]
    assert [ago(one) for one in (-1, 4, 720, 3 * 3600, 50 * 3600)] == ["0 s", "4 s", "12 min", "3 h", "2 days"]  # fmt: skip


def test_what_is_vendored_is_as_it_came() -> None:
    folder = ROOT / "src/railweave/operations/watch/console/static/uplot"
    named = dict(re.findall(r"\| `([^`]+)` \| `[^`]+` \| `([0-9a-f]{64})` \|", (folder / "README.md").read_text()))
    assert named == {
        one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in folder.iterdir() if one.name != "README.md"
    }
    assert "MIT License" in (folder / "LICENSE").read_text()
