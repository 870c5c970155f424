"""A lab is watched with ``--otlp``: Prometheus 3 takes the metrics, an OpenTelemetry Collector the logs. It is a part of ``make trial NAME=watch``.

``python -m tests.operations.watch.trial.otlp`` (root) runs this part only and prints its rows. The same Prometheus scrapes ``/metrics``, so that it
holds each series twice; both must have the same name, labels and number. The Collector passes on what it read, as JSON.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from railweave.live.lab import life
from tests.conftest import EXAMPLES, ROOT, example
from tests.live.lab.machine import lab, needs_lab
from tests.operations.watch.console_trial import shut
from tests.operations.watch.lab_trial import NETWORK, PART, Watch
from tests.operations.watch.trial.programs import answer, program, until

LISTEN, PROMETHEUS, COLLECTOR, SINK = "127.0.0.1:18484", "127.0.0.1:18490", "127.0.0.1:18418", "127.0.0.1:18498"
SYSLOG = "127.0.0.1:18514"
FOLDER = Path(os.environ.get("RAILWEAVE_OTLP_PROGRAMS", ROOT / ".validators" / "otlp"))
MOST_END_S = 2.0
OF_SERVER = {"instance", "job", "__name__"}


def missing() -> str:
    """Return the reason why this part cannot run; empty if it can."""
    if all((FOLDER / name).exists() for name in ("prometheus", "otelcol")) or shutil.which("go"):
        return ""
    return f"no Prometheus with an OTLP receiver and no Collector in {FOLDER}, and no Go to build them"


class Passed(list[tuple[float, dict[str, Any]]]):
    """The log records that the Collector passed on, each with the time at which it came, its scope in ``scope``."""

    def since(self, begun: float, **attributes: str) -> tuple[float, dict[str, Any]] | None:
        """Return the first record after ``begun`` with these attributes; an empty attribute is one that is absent."""
        for at, record in list(self):
            values = {each["key"]: each["value"].get("stringValue", "") for each in record["attributes"]}
            if at >= begun and all(values.get(key, "") == value for key, value in attributes.items()):
                return at, record
        return None


@contextmanager
def sink() -> Iterator[Passed]:
    """The end of the Collector's pipeline while the block runs."""
    passed = Passed()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            for resource in body.get("resourceLogs", ()):
                for scope in resource["scopeLogs"]:
                    passed.extend(
                        (
                            time.monotonic(),
                            {**record, "scope": scope["scope"]["name"], "resource": resource["resource"]},
                        )
                        for record in scope["logRecords"]
                    )
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
            pass

    host, _, port = SINK.partition(":")
    server = ThreadingHTTPServer((host, int(port)), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield passed
    finally:
        server.shutdown()
        server.server_close()


def collector(folder: Path) -> list[str]:
    """The Collector's command line."""
    file = folder / "collector.json"
    pipeline = {"receivers": ["otlp"], "exporters": ["otlphttp"]}
    config = {
        "receivers": {"otlp": {"protocols": {"http": {"endpoint": COLLECTOR}}}},
        "exporters": {"otlphttp": {"endpoint": f"http://{SINK}", "encoding": "json", "compression": "none"}},
        "service": {"telemetry": {"metrics": {"level": "none"}}, "pipelines": {"logs": pipeline}},
    }
    file.write_text(json.dumps(config))
    return [str(FOLDER / "otelcol"), f"--config={file}"]


def prometheus(folder: Path) -> list[str]:
    """Prometheus' command line: it receives OTLP, and scrapes the same watch."""
    file = folder / "prometheus.json"
    scraped = {"job_name": "scraped", "scrape_interval": "1s", "static_configs": [{"targets": [LISTEN]}]}
    file.write_text(json.dumps({"scrape_configs": [scraped]}))
    words = [str(FOLDER / "prometheus"), f"--config.file={file}", f"--storage.tsdb.path={folder / 'tsdb'}"]
    return [*words, f"--web.listen-address={PROMETHEUS}", "--web.enable-otlp-receiver"]


def series(job: str) -> dict[tuple[str, str], float]:
    """The last numbers that Prometheus has of a job, by name and labels."""
    result = answer(f"{PROMETHEUS}/api/v1/query", query=f'{{__name__=~"railweave_.+",job="{job}"}}')
    numbers: dict[tuple[str, str], float] = {}
    for each in result["data"]["result"] if result else ():
        labels = {key: value for key, value in each["metric"].items() if key not in OF_SERVER}
        number = float(each["value"][1])
        if number == number:  # an unknown number is scraped as NaN, and not sent by OTLP
            numbers[each["metric"]["__name__"], json.dumps(labels, sort_keys=True)] = number
    return numbers


def differing() -> tuple[list[str], int]:
    """Return the series that differ between the two ways, and the number of series. Numbers that change each second may differ in number only."""
    scraped, sent = series("scraped"), series("railweave")
    wrong = [f"{name} {labels}: only one way" for name, labels in scraped.keys() ^ sent.keys()]
    for key in scraped.keys() & sent.keys():
        lasting = key[0].startswith("railweave_design_") or key[0].endswith(("_up", "_state", "_known", "_anomalies"))
        if lasting and scraped[key] != sent[key]:
            wrong.append(f"{key[0]} {key[1]}: {scraped[key]:g} scraped, {sent[key]:g} sent")
    return wrong, len(scraped)


def number(name: str) -> float:
    """A number of ``/metrics`` without further labels than its name has."""
    lines = str(answer(f"{LISTEN}/metrics")).splitlines()
    return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name} ")), -1)


def syslog(device: str, text: str) -> None:
    """Send a message of syslog as a device."""
    host, _, port = SYSLOG.partition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.sendto(f"<187>1 - {device} kernel - - - {text}".encode(), (host, int(port)))


def record_of(
    passed: Passed, at: tuple[tuple[str, str], ...], begun: float, change: str
) -> tuple[float, dict[str, Any]]:
    """Wait for the record of an anomaly of a port that follows from no other anomaly. Return the seconds since ``begun``, and the record."""
    records: list[tuple[float, dict[str, Any]]] = []

    def came() -> bool:
        for device, port in at:
            record = passed.since(begun, cause="", severity="error", device=device, port=port, change=change)
            if record is not None:
                records.append(record)
        return bool(records)

    try:
        until(came, f"a record of {at} {change}")
    except AssertionError as late:
        brief = [record["body"]["stringValue"][:60] for at, record in passed if at >= begun]
        raise AssertionError(f"{late}; these came: {brief}") from None
    came_at, record = min(records, key=lambda each: each[0])
    return came_at - begun, record


def run() -> dict[str, Any]:
    """Run this part in a folder and a lab that are gone afterwards, and return its figures."""
    figures: dict[str, Any] = {}
    subprocess.run([str(Path(__file__).with_name("otlp_programs.sh")), str(FOLDER)], check=True)
    with ExitStack() as stack:
        place = Path(stack.enter_context(TemporaryDirectory()))
        fabric = place / "slice.yaml"
        shutil.copy(EXAMPLES / f"{NETWORK}.yaml", fabric)
        stack.enter_context(lab(fabric, example(NETWORK), PART))
        running = stack.enter_context(life.attach(fabric)[1])
        passed = stack.enter_context(sink())
        receiving = stack.enter_context(ExitStack())
        receiving.enter_context(program(collector(place), place / "collector.log", COLLECTOR, by_tcp=True))
        storing = stack.enter_context(ExitStack())
        storing.enter_context(program(prometheus(place), place / "prometheus.log", f"{PROMETHEUS}/-/ready"))
        metrics = f"http://{PROMETHEUS}/api/v1/otlp/v1/metrics"
        words = ("--listen", LISTEN, "--syslog", SYSLOG, "--otlp", f"http://{COLLECTOR}")
        environment = {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": metrics}
        watch = Watch(fabric, place / "samples.sqlite", *words, environment=environment)
        stack.callback(watch.end)
        assert watch.quiet(60), watch.bad()
        switches = len(running.plan.configs)
        up = 'count(railweave_target_up{job="railweave",role!="server"} == 1)'
        until(lambda: bool(query(up)) and query(up)[0] == switches, f"Prometheus has {switches} switches by OTLP")
        try:
            until(lambda: not differing()[0], "each series is the same both ways", 30)
        except AssertionError as late:
            raise AssertionError(f"{late}: {differing()[0][:5]}") from None
        figures["otlp_series"] = differing()[1]
        print(f"{figures['otlp_series']} series are the same by OTLP and by scraping", flush=True)
        fault = shut(random.Random(31), running)  # noqa: S311 - repeatable
        fault.begin()
        begun = time.monotonic()
        try:
            figures["otlp_opened_s"], record = record_of(passed, fault.at, begun, "opened")
            assert (record["severityNumber"], record["scope"]) == (17, "railweave.anomalies"), record
            assert {"key": "service.name", "value": {"stringValue": "railweave"}} in record["resource"]["attributes"]
        finally:
            fault.end()
        begun = time.monotonic()
        figures["otlp_closed_s"], record = record_of(passed, fault.at, begun, "closed")
        assert record["severityNumber"] == 9, record
        print(f"{fault.what}: a record after {figures['otlp_opened_s']:.1f} s, its end after {figures['otlp_closed_s']:.1f} s", flush=True)  # fmt: skip
        device = min(running.plan.configs)
        receiving.close()
        begun = time.monotonic()
        for count in range(20):
            syslog(device, f"trial message {count}")
        until(lambda: total("railweave_syslog_messages_total") >= 20, "syslog comes")
        receiving.enter_context(program(collector(place), place / "collector.log", COLLECTOR, by_tcp=True))
        until(lambda: len(texts(passed, begun)) == 20, "log records that waited come")
        assert texts(passed, begun) == [f"trial message {count}" for count in range(20)]
        assert number("railweave_otlp_dropped_log_records_total") == 0
        print("20 records waited for a Collector that was down, and came in order", flush=True)
        storing.close()
        until(lambda: total('railweave_otlp_failed_requests_total{signal="metrics"}') > 0, "requests fail")
        storing.enter_context(program(prometheus(place), place / "prometheus.log", f"{PROMETHEUS}/-/ready"))
        restarted, newest = time.time(), 'max(timestamp(railweave_target_up{job="railweave"}))'
        figures["otlp_again_s"] = until(lambda: max(query(newest), default=0) > restarted, "new numbers come again")
        print(f"new numbers {figures['otlp_again_s']:.1f} s after Prometheus is up again", flush=True)
        begun = time.monotonic()
        watch.process.terminate()
        watch.process.wait(20)
        figures["otlp_end_s"] = time.monotonic() - begun
        assert figures["otlp_end_s"] < MOST_END_S, f"the end took {figures['otlp_end_s']:.1f} s"
        figures["otlp_stale_s"] = until(lambda: not series("railweave"), "no series is left")
        print(f"ended after {figures['otlp_end_s']:.1f} s; Prometheus has no series after {figures['otlp_stale_s']:.1f} s more", flush=True)  # fmt: skip
    return figures


def texts(passed: Passed, begun: float) -> list[str]:
    """The texts of syslog that came after a time."""
    records = [record for at, record in list(passed) if at >= begun and record["scope"] == "railweave.syslog"]
    return [record["body"]["stringValue"] for record in records]


def total(start: str) -> float:
    """The sum of the numbers of ``/metrics`` whose lines begin so."""
    lines = str(answer(f"{LISTEN}/metrics")).splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(start))


def query(expression: str) -> list[float]:
    """The numbers of an expression in Prometheus; none while it does not answer."""
    result = answer(f"{PROMETHEUS}/api/v1/query", query=expression)
    return [float(each["value"][1]) for each in result["data"]["result"]] if result else []


def rows(figures: dict[str, Any]) -> list[str]:
    """The rows of this part in the page."""
    return [
        f"| series in Prometheus 3 by `--otlp` and by scraping | {figures['otlp_series']}, with the same names, labels and numbers |",
        f"| log record at an OpenTelemetry Collector | {figures['otlp_opened_s']:.1f} s after the port was shut, {figures['otlp_closed_s']:.1f} s after it was opened |",
        f"| receivers of `--otlp` that were down | log records came in order once the Collector was up; new numbers {figures['otlp_again_s']:.1f} s after Prometheus was |",
        f"| SIGTERM | ended after {figures['otlp_end_s']:.1f} s; Prometheus shows no series of the watch {figures['otlp_stale_s']:.1f} s later |",
    ]


if __name__ == "__main__":
    why = (needs_lab.args[0] and needs_lab.kwargs["reason"]) or missing()
    if why:
        sys.exit(f"cannot run here: {why}")
    print("\n".join(rows(run())))
