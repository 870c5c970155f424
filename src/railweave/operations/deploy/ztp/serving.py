"""A web server to try a first boot: it serves files to known devices, and refuses all other requests.

A device is identified by its serial number: the first part of the path and, on systems that send it, a request
header. Refused requests are reported, and logged in ``asked.log`` of the folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from railweave.errors import FileLine, InputError, OutputError, Problem
from railweave.live.reach.failure import cause
from railweave.operations.deploy.ztp.making import RECORD
from railweave.progress import silent
from railweave.reading import file_text, parse_json

if TYPE_CHECKING:
    from collections.abc import Callable

LOG = "asked.log"
MOST = 128
"""The largest number of simultaneous connections. Further connections wait until one ends, or is closed because no request arrived in time."""
HEADERS_S = 10.0
"""The seconds within which the request line and headers must arrive."""
SENDING_S = 3600.0
"""The seconds within which a file must be sent: an image over a slow management network takes minutes."""
MOST_LOG = 16 << 20
"""The size in bytes at which ``asked.log`` is renamed to ``asked.log.1``, and a new one begins."""
_LONGEST = 300
"""The largest number of characters of a line in the log."""
_PIECE = 1 << 20
_UNPRINTABLE = re.compile(r"[^ -~]")


class Server(ThreadingHTTPServer):
    """A web server for a folder that ``deploy ztp`` wrote, used as a context manager. ``say`` receives a line for each request."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, folder: Path, address: tuple[str, int], say: Callable[[str], None] = silent) -> None:
        self.folder = folder
        self._say = say
        self._guard = threading.Lock()
        self._places = threading.BoundedSemaphore(MOST)
        self._good: dict[str, tuple[int, int]] = {}
        try:
            self.record: dict[str, Any] = parse_json(file_text(folder / RECORD))
        except (OSError, ValueError, RecursionError):
            raise InputError(
                [
                    Problem(
                        FileLine(str(folder / RECORD)),
                        "there is no first boot",
                        "railweave deploy ztp FABRIC -o DIR --serve ADDRESS:PORT",
                    )
                ]
            ) from None
        try:
            super().__init__(address, _Request)
        except OSError as error:
            raise OutputError(f"cannot listen at {address[0]}:{address[1]}: {error.strerror}") from error

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as socketserver has it
        """Wait until fewer than ``MOST`` connections are open, then answer the request in a thread."""
        self._places.acquire()
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._places.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as socketserver has it
        """Answer the request, then let the next waiting connection begin."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def note(self, line: str) -> None:
        """Report a line through ``say``, and append it to ``asked.log``. If the log cannot be written, report that instead of failing."""
        line = _UNPRINTABLE.sub("?", line)[:_LONGEST]
        path = self.folder / LOG
        with self._guard:
            self._say(line)
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            try:
                with path.open("a", encoding="utf-8") as log:
                    log.write(f"{stamp} {line}\n")
                    full = log.tell() > MOST_LOG
                if full:
                    path.replace(path.with_name(f"{LOG}.1"))
            except OSError as error:
                self._say(f"{LOG} cannot be written: {error.strerror or error}")

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as socketserver has it
        """Report an error while a request was answered. A device that ended its connection is not reported."""
        del request
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):
            self.note(f"{client_address[0]}: the request was not answered: {cause(error)}")

    def resolve(self, path: str, headers: dict[str, str]) -> tuple[Path | None, str]:
        """Return (file for a path, name of the device that requests it), or (None, reason) if the request is refused.

        ``headers`` are the request headers, with names in lower case.
        """
        root = re.sub(r"^https?://[^/]*", "", str(self.record["url"]))
        parts = path.removeprefix(root).split("/")[1:] if path.startswith(f"{root}/") else []
        if len(parts) != 2:
            return None, "unknown path"
        first, name = parts
        if first == "images":
            image = self.record["images"].get(name)
            return (self._image(name, image), "an image") if image else (None, f"unknown image {name}")
        device = self.record["devices"].get(first)
        if device is None:
            return None, f"unknown serial number {first}"
        for header in device["headers"]:
            if (serial := headers.get(header.lower(), first)) != first:
                return None, f"{serial} asks for the files of {first} ({device['name']})"
        if name not in device["files"]:
            return None, f"{device['name']} ({first}) asks for {name}, which it does not have"
        return self.folder / first / name, f"{device['name']} ({first})"

    def _image(self, name: str, image: dict[str, str]) -> Path | None:
        """Return the path of an image, or None if its checksum has changed or its file cannot be read.

        ``image`` has the path of its file and its checksum. The checksum is computed again only if the file changes.
        """
        path = Path(image["file"])
        try:
            stat = path.stat()
            if self._good.get(name) != (stat.st_mtime_ns, stat.st_size):
                with path.open("rb") as file:
                    if hashlib.file_digest(file, "sha256").hexdigest() != image["sha256"]:
                        self.note(f"image {name} is not served: its checksum has changed since `deploy ztp` was run")
                        return None
                self._good[name] = (stat.st_mtime_ns, stat.st_size)
        except OSError:
            return None
        return path


class _Request(BaseHTTPRequestHandler):
    timeout = 30

    def setup(self) -> None:
        """Start a timer that cuts off the connection if no request arrives in time. ``timeout`` is not enough: each byte restarts it."""
        super().setup()
        self._late = threading.Timer(HEADERS_S, self._cut_off)
        self._late.daemon = True
        self._late.start()

    def finish(self) -> None:
        """End the connection."""
        self._late.cancel()
        super().finish()

    def _cut_off(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    @property
    def _of(self) -> Server:
        return cast("Server", self.server)

    def do_GET(self) -> None:
        """Answer with a file, or 404."""
        self._answer(content=True)

    def do_HEAD(self) -> None:
        """Answer with the size of a file, or 404."""
        self._answer(content=False)

    def _answer(self, *, content: bool) -> None:
        self._late.cancel()
        self._late = threading.Timer(SENDING_S, self._cut_off)
        self._late.daemon = True
        self._late.start()
        headers = {name.lower(): value for name, value in self.headers.items()}
        path = self.path.partition("?")[0]
        file, who = self._of.resolve(path, headers)
        if file is None or not file.is_file():
            self._of.note(f"{self.client_address[0]} {path}: nothing given: {who}")
            self.send_error(404)
            return
        with file.open("rb") as opened:
            self.send_response(200)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(file.stat().st_size))
            self.end_headers()
            while content and (piece := opened.read(_PIECE)):
                self.wfile.write(piece)
        self._of.note(f"{self.client_address[0]} {path}: given to {who}")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that the class has
        """Do nothing, because ``note`` already reports requests."""
        del format, args
