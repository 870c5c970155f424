"""A lab is watched while a cable fails in it; Prometheus, VictoriaMetrics and Alertmanager work from what ``railweave export prometheus`` wrote.

What is asked: both scrape everything that is served, and a server's node_exporter; every rule is evaluated by both; no alert before the fault;
the alert of a port that is down comes to a webhook three ways (the watch's own, Prometheus' and vmalert's), and so does its end; a watch that
is killed has lost no more than 10 s.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from railweave.live.lab import life
from railweave.live.lab.hosts import HOST_FILE
from railweave.live.lab.kernel.namespace import ip
from railweave.live.lab.names import namespace
from railweave.live.lab.running import Running
from tests.conftest import EXAMPLES, example
from tests.live.lab.drawn import Drawn
from tests.live.lab.machine import lab
from tests.operations.watch.console_trial import shut
from tests.operations.watch.lab_trial import CLEAN_LIMIT_S, NETWORK, PART, Watch
from tests.operations.watch.trial.programs import (
    ALERTMANAGER,
    PROMETHEUS,
    VICTORIA,
    alertmanager,
    answer,
    program,
    prometheus,
    until,
    victoria,
    vmalert,
)
from tests.operations.watch.trial.webhook import HERE, Told, listening

LISTEN, VMALERT, EXPORTER = "127.0.0.1:18484", "127.0.0.1:18480", 9100
OURS, SERVERS = "198.18.255.1/30", "198.18.255.2/30"
ALERT_LIMIT_S, LOST_S = 90, 10


def say(text: str) -> None:
    """A line of the log."""
    print(text, flush=True)


def railweave(*words: str | Path) -> list[str]:
    """The command line."""
    return [sys.executable, "-c", "import sys; from railweave.cli import main; sys.exit(main())", *map(str, words)]


@contextmanager
def exporter(running: Running, folder: Path) -> Iterator[str]:
    """node_exporter on a server of the lab, behind a management port of its own; the server's name."""
    name = min(one.name for one in running.plan.network.servers)
    space = namespace(running.place.lab, name)
    ip(["link", "add", "rwtrial0", "type", "veth", "peer", "name", "mgmt0", "netns", space])
    try:
        ip(["addr", "add", OURS, "dev", "rwtrial0"])
        ip(["link", "set", "rwtrial0", "up"])
        ip(["addr", "add", SERVERS, "dev", "mgmt0"], inside=space)
        ip(["link", "set", "mgmt0", "up"], inside=space)
        at = SERVERS.partition("/")[0]
        words = ["ip", "netns", "exec", space, "prometheus-node-exporter", f"--web.listen-address={at}:{EXPORTER}"]
        words.append(f"--collector.textfile.directory={folder}")
        numbers = [sys.executable, "-m", "railweave.host", "metrics", "--out", str(folder / "railweave.prom")]
        numbers += ["--host-file", str(running.place.host(name) / HOST_FILE)]
        subprocess.run(["ip", "netns", "exec", space, *numbers], check=True)
        with program(words, folder / "node_exporter.log", f"{at}:{EXPORTER}/metrics"):
            (folder / "hosts").write_text(f"127.0.0.1 localhost\n{at} {name}\n")
            yield name
    finally:
        ip(["link", "del", "rwtrial0"])


def query(where: str, expression: str) -> list[tuple[dict[str, str], float]]:
    """What an expression is now, by Prometheus or by VictoriaMetrics: labels and numbers."""
    said = answer(f"{where}/api/v1/query", query=expression)
    assert said is not None, f"{where} does not take: {expression}"
    assert said["status"] == "success", said
    return [(one["metric"], float(one["value"][1])) for one in said["data"]["result"]]


def both(expression: str, least: float) -> bool:
    """Whether both databases say that an expression is one number, at least so large."""
    found = [query(where, expression) for where in (PROMETHEUS, VICTORIA)]
    return all(one and one[0][1] >= least for one in found)


def rules(where: str) -> list[dict[str, Any]]:
    """All rules of Prometheus or vmalert with what came of them."""
    said = answer(f"{where}/api/v1/rules") or {"data": {"groups": []}}
    return [one for group in said["data"]["groups"] for one in group["rules"]]


def evaluated(where: str) -> bool:
    """Whether each rule was evaluated and none failed."""
    found = rules(where)
    wrong = [one["name"] for one in found if one.get("health") == "err"]
    assert not wrong, f"{where}: rules that fail: {wrong}"
    return bool(found) and all(one.get("health") == "ok" for one in found)


def quiet(where: str) -> bool:
    """Whether no alert fires or is about to."""
    return not [one for one in rules(where) if one["type"] == "alerting" and one["state"] in {"firing", "pending"}]


def checked(folder: Path) -> None:
    """The written files as promtool and vmalert read them."""
    for words in (
        ["promtool", "check", "rules", "railweave.rules.yml"],
        ["promtool", "check", "config", "prometheus.yml"],
        ["vmalert", "-dryRun", "-rule=railweave.rules.yml"],
    ):
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}"


def told_of(fault: Drawn, told: Told, begun: float, status: str, **labels: str) -> float:
    """How long after ``begun`` the webhook was told of the port of a fault, by one whose alerts have these labels, seconds."""
    found: list[float] = []

    def there() -> bool:
        for device, port in fault.at:
            one = told.since(begun, status, device=device, port=port, **labels)
            if one is not None:
                found.append(one.at - begun)
        return bool(found)

    until(there, f"{status} {labels} of {fault.what}", ALERT_LIMIT_S)
    return min(found)


WAYS = {
    "railweave watch": {"alertname": "port-down"},
    "Prometheus": {"alertname": "RailweavePortDown", "by": ""},
    "vmalert": {"alertname": "RailweavePortDown", "by": "vmalert"},
}
"""Who tells Alertmanager, and by which labels it is known."""


def newest(store: Path) -> float:
    """When the last sample of a store was taken, seconds since 1970."""
    with sqlite3.connect(store) as database:
        return database.execute("SELECT max(time) FROM block").fetchone()[0]


def run() -> dict[str, Any]:
    """All of it, in a folder and a lab that are gone afterwards. Gives the figures."""
    figures: dict[str, Any] = {}
    with ExitStack() as stack:
        place = Path(stack.enter_context(TemporaryDirectory()))
        fabric, monitoring, store = place / "slice.yaml", place / "monitoring", place / "samples.sqlite"
        shutil.copy(EXAMPLES / f"{NETWORK}.yaml", fabric)
        words = ("export", "prometheus", fabric, "-o", monitoring, "--watch", LISTEN, "--alertmanager", ALERTMANAGER)
        subprocess.run(railweave(*words), check=True, stdout=subprocess.DEVNULL)
        checked(monitoring)
        say("promtool and vmalert take the rules, promtool the configuration")
        stack.enter_context(lab(fabric, example(NETWORK), PART))
        running = stack.enter_context(life.attach(fabric)[1])
        server = stack.enter_context(exporter(running, place))
        told = stack.enter_context(listening())
        words = alertmanager(place / "alertmanager.yml", HERE)
        stack.enter_context(program(words, place / "alertmanager.log", f"{ALERTMANAGER}/-/ready"))
        watch = Watch(
            fabric, store, "--servers", "--listen", LISTEN, "--alertmanager", f"http://{ALERTMANAGER}/api/v2/alerts"
        )
        stack.callback(watch.end)
        until(lambda: answer(f"{LISTEN}/metrics") is not None, "railweave watch serves")
        hosts = place / "hosts"
        stack.enter_context(program(prometheus(monitoring, hosts), place / "prometheus.log", f"{PROMETHEUS}/-/ready"))
        stack.enter_context(program(victoria(monitoring, hosts), place / "victoria.log", f"{VICTORIA}/health"))
        stack.enter_context(program(vmalert(monitoring, VMALERT), place / "vmalert.log", f"{VMALERT}/health"))
        switches = len(running.plan.configs)
        until(lambda: both("count(railweave_target_up == 1)", switches), f"both databases have {switches} switches")
        until(
            lambda: both(f'count(up{{job="servers",instance="{server}:{EXPORTER}"}} == 1)', 1), "the server is scraped"
        )
        nics = len(running.plan.network.server(server).nics)
        until(lambda: both("count(railweave_nic_up{netdev!=''} == 1)", nics), "the textfile of the server is scraped")
        until(lambda: both('count(railweave_nic_up{role="server"} == 1)', nics), "servers are asked by the watch")
        until(lambda: evaluated(PROMETHEUS) and evaluated(VMALERT), "every rule is evaluated by both")
        assert watch.quiet(60), [(one["id"], one["where"]) for one in watch.bad()]
        until(lambda: quiet(PROMETHEUS) and quiet(VMALERT), "no alert before the fault", 2 * CLEAN_LIMIT_S)
        figures["rules"] = len(rules(PROMETHEUS))
        figures["series"] = int(query(PROMETHEUS, 'count({__name__=~"railweave_.*"})')[0][1])
        say(f"{figures['rules']} rules are evaluated over {figures['series']:,} series, and no alert is there")
        fault = shut(random.Random(31), running)  # noqa: S311 - repeatable
        fault.begin()
        begun = time.monotonic()
        try:
            for who, labels in WAYS.items():
                figures[who] = told_of(fault, told, begun, "firing", **labels)
                say(f"{fault.what} shut: the webhook is told of it by {who} after {figures[who]:.1f} s")
            same = [
                {one["device"] + one["port"] for one, _ in query(where, "railweave_port_up == 0")}
                for where in (PROMETHEUS, VICTORIA)
            ]
            assert same[0] == same[1], same
        finally:
            fault.end()
        begun = time.monotonic()
        for who, labels in WAYS.items():
            figures[f"{who} ended"] = told_of(fault, told, begun, "resolved", **labels)
            say(f"{fault.what} open: the webhook is told so by {who} after {figures[f'{who} ended']:.1f} s")
        watch.process.kill()
        lost = time.time() - newest(store)
        figures["lost_s"] = lost
        assert lost <= LOST_S, f"a killed watch lost {lost:.1f} s"
        say(f"killed: the last sample in its store is {lost:.1f} s old")
        begun = time.monotonic()
        gone = {"alertname": "RailweaveWatchDown", "by": ""}
        until(
            lambda: told.since(begun, "firing", **gone) is not None,
            "the webhook is told that the watch is gone",
            ALERT_LIMIT_S,
        )
        figures["gone_s"] = time.monotonic() - begun
        say(f"the webhook is told by Prometheus after {figures['gone_s']:.1f} s that nothing is watched")
    return figures
