"""Prometheus, Alertmanager, VictoriaMetrics and node_exporter as processes of the trial, on loopback."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PACKAGES = {
    "prometheus": "prometheus",
    "promtool": "prometheus",
    "prometheus-alertmanager": "prometheus-alertmanager",
    "victoria-metrics": "victoria-metrics",
    "vmalert": "victoria-metrics",
    "prometheus-node-exporter": "prometheus-node-exporter",
}
"""What the trial needs, and the packages of Debian that have it."""
PROMETHEUS, ALERTMANAGER, VICTORIA = "127.0.0.1:18490", "127.0.0.1:18493", "127.0.0.1:18428"
LIMIT_S = 60
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def missing() -> str:
    """Which programs are not there, in words; empty: all are."""
    gone = sorted({package for name, package in PACKAGES.items() if shutil.which(name) is None})
    return f"not installed: {', '.join(gone)} (packages of Debian)" if gone else ""


def answer(address: str, **asked: str) -> Any:
    """What an HTTP server of the trial says, read as JSON where it is; None where it does not answer."""
    try:
        with _DIRECT.open(f"http://{address}?{urllib.parse.urlencode(asked)}", timeout=10) as came:
            text = came.read().decode()
    except (OSError, urllib.error.HTTPError):
        return None
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def until(true: Callable[[], bool], what: str, seconds: float = LIMIT_S) -> float:
    """Wait for something that another process does; how long it took, seconds. Raises ``AssertionError``."""
    begun = time.monotonic()
    while not true():
        assert time.monotonic() < begun + seconds, f"{what}: not in {seconds:g} s"
        time.sleep(0.1)
    return time.monotonic() - begun


@contextmanager
def program(words: list[str], log: Path, ready: str, *, by_tcp: bool = False) -> Iterator[None]:
    """A process that answers at ``ready``, and ends with the block. With ``by_tcp``, it only takes connections at that address and port."""

    def answers() -> bool:
        if not by_tcp:
            return answer(ready) is not None
        host, _, port = ready.partition(":")
        with socket.socket() as tried:
            return tried.connect_ex((host, int(port))) == 0

    with log.open("wb") as out:
        environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        process = subprocess.Popen(words, stdout=out, stderr=out, cwd=log.parent, env=environment)
        try:
            until(lambda: process.poll() is not None or answers(), f"{words[0]} answers")
            assert process.poll() is None, f"{words[0]} ended:\n{log.read_text()[-2000:]}"
            yield
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def naming(hosts: Path, words: list[str]) -> list[str]:
    """The same words with ``hosts`` as their /etc/hosts: names of servers are those of the files that are tried."""
    return ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(hosts), *words]


def prometheus(folder: Path, hosts: Path) -> list[str]:
    """Prometheus with the files that ``railweave export prometheus`` wrote into a folder."""
    words = [
        "prometheus",
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder.parent / 'tsdb'}",
    ]
    return naming(hosts, [*words, f"--web.listen-address={PROMETHEUS}"])


def victoria(folder: Path, hosts: Path) -> list[str]:
    """VictoriaMetrics with the same configuration of what is scraped; it has no rules of its own."""
    words = [
        "victoria-metrics",
        f"-promscrape.config={folder / 'prometheus.yml'}",
        "-promscrape.config.strictParse=false",
    ]
    words += [f"-storageDataPath={folder.parent / 'victoria'}", "-search.latencyOffset=0s"]
    return naming(hosts, [*words, f"-httpListenAddr={VICTORIA}"])


def vmalert(folder: Path, listen: str) -> list[str]:
    """VictoriaMetrics' own program for rules, with the same rule file."""
    words = ["vmalert", f"-rule={folder / 'railweave.rules.yml'}", f"-datasource.url=http://{VICTORIA}"]
    words += [f"-remoteWrite.url=http://{VICTORIA}", f"-notifier.url=http://{ALERTMANAGER}"]
    return [*words, "-external.label=by=vmalert", f"-httpListenAddr={listen}"]


def alertmanager(file: Path, webhook: str) -> list[str]:
    """Alertmanager that tells a webhook of every alert within a second."""
    receiver = {"name": "trial", "webhook_configs": [{"url": f"http://{webhook}/", "send_resolved": True}]}
    route = {
        "receiver": "trial",
        "group_by": ["..."],
        "group_wait": "1s",
        "group_interval": "1s",
        "repeat_interval": "1h",
    }
    file.write_text(json.dumps({"route": route, "receivers": [receiver]}))
    words = ["prometheus-alertmanager", f"--config.file={file}", f"--storage.path={file.parent / 'alertmanager'}"]
    return [*words, f"--web.listen-address={ALERTMANAGER}", "--cluster.listen-address="]
