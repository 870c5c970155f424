"""A receiver of OTLP for tests: it answers as it is told to, and keeps what came, decoded by OpenTelemetry's own messages."""

from __future__ import annotations

import gzip
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

PROTOBUF = "application/x-protobuf"
_CLASSES = {"metrics": ExportMetricsServiceRequest, "logs": ExportLogsServiceRequest}


@dataclass
class Answering:
    """One answer. ``hold`` is an event that the receiver awaits before it answers."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    kind: str = PROTOBUF
    hold: threading.Event | None = None


@dataclass
class Came:
    """One request: the signal, the headers and the decoded message."""

    signal: str
    headers: dict[str, str]
    message: Any


class Receiver:
    """The requests that came. ``answers`` has the next answers by signal; after the last one, every request is accepted."""

    def __init__(self) -> None:
        self.came: list[Came] = []
        self.answers: dict[str, list[Answering]] = {"metrics": [], "logs": []}
        self.url = ""

    def of(self, signal: str) -> list[Any]:
        return [each.message for each in self.came if each.signal == signal]

    def bodies(self) -> list[str]:
        """The texts of all log records, in the order in which they came."""
        return [record.body.string_value for message in self.of("logs") for record in records_of(message)]


def records_of(message: Any) -> list[Any]:
    return [
        record for resource in message.resource_logs for scope in resource.scope_logs for record in scope.log_records
    ]


def metrics_of(message: Any) -> list[Any]:
    return [
        metric for resource in message.resource_metrics for scope in resource.scope_metrics for metric in scope.metrics
    ]


def points_of(metric: Any) -> list[Any]:
    return list(metric.sum.data_points if metric.HasField("sum") else metric.gauge.data_points)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def receiving(port: int = 0, certificate: str = "") -> Iterator[Receiver]:
    """A receiver while the block runs; with TLS if the PEM file of a certificate and its key is given."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            signal = self.path.rpartition("/")[2]
            message = _CLASSES[signal].FromString(body)
            receiver.came.append(Came(signal, {key.lower(): value for key, value in self.headers.items()}, message))
            answers = receiver.answers[signal]
            answer = answers.pop(0) if answers else Answering()
            if answer.hold is not None:
                answer.hold.wait(20)
            try:
                self.send_response(answer.status)
                for key, value in {"Content-Type": answer.kind, **answer.headers}.items():
                    self.send_header(key, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)
            except OSError:  # the client did not wait
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:  # a client that refuses the certificate
            pass

    server = Server(("127.0.0.1", port), Handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    receiver.url = f"http{'s' if certificate else ''}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
