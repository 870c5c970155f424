"""NVIDIA's Topograph over our models, in a network namespace of its own: it listens on all interfaces.

``python -m tests.operations.exports.topograph_run PROGRAM EXAMPLE …`` runs inside the namespace, and prints what Topograph
answers to each request of each example as JSON. ``answers`` makes the namespace.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from railweave.operations.exports import topograph
from tests.conftest import ROOT, example

PORT = 49021
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
LIMIT_S = 60


def program() -> str:
    """The program, from RAILWEAVE_TOPOGRAPH or PATH; empty: there is none."""
    return os.environ.get("RAILWEAVE_TOPOGRAPH") or shutil.which("topograph") or ""


def missing() -> str:
    """The reason why Topograph cannot run here; empty: it can."""
    if not program():
        return "there is no program topograph (NVIDIA Topograph): name it by RAILWEAVE_TOPOGRAPH"
    if os.geteuid() != 0:
        return "a network namespace needs root"
    return ""


def answers(names: list[str]) -> dict[str, dict[str, str]]:
    """The answer to each request file, by example and name of the file."""
    words = ["unshare", "--net", sys.executable, "-m", __name__, program(), *names]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, cwd=ROOT, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def _get(path: str, data: bytes | None = None) -> tuple[int, str]:
    try:
        with _DIRECT.open(urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", data), timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def _ask(request: str) -> str:
    """The result of one request. Topograph answers 202 while it works."""
    status, uid = _get("/v1/generate", request.encode())
    assert status == 202, (status, uid)
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        status, text = _get(f"/v1/topology?uid={uid.strip()}")
        if status == 200:
            return text
        assert status == 202, (status, text)
        time.sleep(0.02)
    raise AssertionError(f"no result in {LIMIT_S} s")


def _inside(words: list[str]) -> int:
    command, *names = words
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        config = folder / "config.yaml"
        config.write_text(f"http: {{port: {PORT}, ssl: false}}\nrequestAggregationDelay: 10ms\n")
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen([command, "-c", str(config)], stdout=log, stderr=log)
        try:
            end = time.monotonic() + LIMIT_S
            while not _is_up():
                assert process.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < end, "topograph does not listen"
                time.sleep(0.05)
            print(json.dumps({name: _run(folder, name) for name in names}))
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    return 0


def _is_up() -> bool:
    try:
        return _get("/healthz")[0] == 200
    except OSError:
        return False


def _run(folder: Path, name: str) -> dict[str, str]:
    files = topograph.files(example(name))
    place = folder / name
    place.mkdir()
    (place / topograph.MODEL).write_text(files[topograph.MODEL])
    result: dict[str, str] = {}
    for file, text in files.items():
        if file.startswith("request-"):
            request = json.loads(text)
            request["provider"]["params"]["modelFileName"] = str(place / topograph.MODEL)
            result[file] = _ask(json.dumps(request))
    return result


if __name__ == "__main__":
    sys.exit(_inside(sys.argv[1:]))
