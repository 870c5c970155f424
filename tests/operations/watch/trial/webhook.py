"""Who Alertmanager tells: it keeps each alert with the time at which it came."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HERE = "127.0.0.1:18499"


@dataclass(frozen=True)
class Alert:
    """One alert as it was told: ``status`` is ``firing`` or ``resolved``."""

    at: float
    status: str
    labels: dict[str, str]


class Told(list[Alert]):
    """All that came."""

    def since(self, begun: float, status: str, **labels: str) -> Alert | None:
        """The first with these labels that came after a time; an empty label is one that is not there."""
        for one in self:
            if (
                one.at >= begun
                and one.status == status
                and all(one.labels.get(key, "") == value for key, value in labels.items())
            ):
                return one
        return None


@contextmanager
def listening() -> Iterator[Told]:
    """Listen while the block runs."""
    told = Told()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            told.extend(Alert(time.monotonic(), one["status"], one["labels"]) for one in body["alerts"])
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
            pass

    host, _, port = HERE.partition(":")
    server = ThreadingHTTPServer((host, int(port)), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
