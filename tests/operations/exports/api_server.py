"""A Kubernetes API server with etcd, as processes of the trial, on loopback. Nothing of it is left when the block ends."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

Document = dict[str, Any]
ETCD, PEER, PORT = 18479, 18480, 18443
LIMIT_S = 120


def programs() -> dict[str, str]:
    """The programs by name: from RAILWEAVE_ETCD and RAILWEAVE_KUBE_APISERVER, or PATH; empty where there is none."""
    return {
        name: os.environ.get(f"RAILWEAVE_{name.upper().replace('-', '_')}") or shutil.which(name) or ""
        for name in ("etcd", "kube-apiserver", "openssl")
    }


def missing() -> str:
    """The programs that are missing, in words; empty: none is."""
    gone = [name for name, path in programs().items() if not path]
    if not gone:
        return ""
    return f"not installed: {', '.join(gone)} (RAILWEAVE_ETCD and RAILWEAVE_KUBE_APISERVER name programs outside PATH)"


class ApiServer:
    """Requests to the API server, over one connection."""

    def __init__(self, token: str, certificate: Path) -> None:
        self._token = token
        self._context = ssl.create_default_context(cafile=str(certificate))
        self._connection: http.client.HTTPSConnection | None = None
        self._plurals: dict[tuple[str, str], tuple[str, bool]] = {}

    def ask(self, method: str, path: str, body: Document | None = None, *, form: str = "json") -> tuple[int, Document]:
        """The status and the answer of a request. ``form`` is that of the body: json, merge-patch+json, apply-patch+yaml."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": f"application/{form}"}
        sent = None if body is None else json.dumps(body)
        reused = self._connection is not None
        while True:
            if self._connection is None:
                self._connection = http.client.HTTPSConnection("127.0.0.1", PORT, context=self._context, timeout=60)
            try:
                self._connection.request(method, path, sent, headers)
                answer = self._connection.getresponse()
                text = answer.read()
                break
            except (OSError, http.client.HTTPException):
                self._connection.close()
                self._connection = None
                if not reused:
                    raise
                reused = False  # the server closes a connection that was idle while an example was designed
        try:
            return answer.status, json.loads(text)
        except json.JSONDecodeError:
            return answer.status, {"message": text.decode(errors="replace")}

    def place(self, written: Document) -> str:
        """The path of an object. Objects in namespaces are in ``default``."""
        group, kind = written["apiVersion"], written["kind"]
        root = f"/apis/{group}" if "/" in group else f"/api/{group}"
        end = time.monotonic() + LIMIT_S
        while (group, kind) not in self._plurals:  # a definition is served a moment after it is established
            assert time.monotonic() < end, f"the server has no {kind} in {group}"
            for resource in self.ask("GET", root)[1].get("resources", []):
                if "/" not in resource["name"]:
                    self._plurals[group, resource["kind"]] = (resource["name"], resource["namespaced"])
            time.sleep(0.05)
        plural, namespaced = self._plurals[group, kind]
        return f"{root}/{'namespaces/default/' if namespaced else ''}{plural}/{written['metadata']['name']}"

    def apply(self, written: Document) -> str:
        """Apply an object as ``kubectl apply --server-side --dry-run=server`` does. Gives why it was refused; empty: it was not."""
        query = "?dryRun=All&fieldManager=railweave&fieldValidation=Strict&force=true"
        status, answer = self.ask("PATCH", self.place(written) + query, written, form="apply-patch+yaml")
        return "" if status in {200, 201} else f"{status}: {answer.get('message', answer)}"

    def define(self, definition: Document) -> None:
        """Add a definition (CRD), and wait until the server has its kind."""
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        status, answer = self.ask("POST", path, definition)
        assert status == 201, (definition["metadata"]["name"], status, answer.get("message"))
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            _, answer = self.ask("GET", f"{path}/{definition['metadata']['name']}")
            conditions = answer.get("status", {}).get("conditions") or []
            if any(condition["type"] == "Established" and condition["status"] == "True" for condition in conditions):
                return
            time.sleep(0.05)
        raise AssertionError(f"{definition['metadata']['name']} is not established in {LIMIT_S} s")


@contextmanager
def _process(words: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    with log.open("wb") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out, cwd=log.parent, env=environment)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def running(folder: Path) -> Iterator[ApiServer]:
    """An API server whose data is in a folder. Raises ``AssertionError`` if it does not start."""
    names = programs()
    key, tokens, token = folder / "accounts.key", folder / "tokens.csv", secrets.token_hex(16)
    subprocess.run([names["openssl"], "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
    tokens.touch(mode=0o600)
    tokens.write_text(f"{token},trial,trial,system:masters\n")
    etcd = [names["etcd"], f"--data-dir={folder / 'etcd'}", f"--listen-client-urls=http://127.0.0.1:{ETCD}"]
    etcd += [f"--advertise-client-urls=http://127.0.0.1:{ETCD}", f"--listen-peer-urls=http://127.0.0.1:{PEER}"]
    etcd += [
        f"--initial-advertise-peer-urls=http://127.0.0.1:{PEER}",
        f"--initial-cluster=default=http://127.0.0.1:{PEER}",
    ]
    server = [names["kube-apiserver"], f"--etcd-servers=http://127.0.0.1:{ETCD}", "--bind-address=127.0.0.1"]
    server += [f"--secure-port={PORT}", f"--cert-dir={folder / 'certificates'}", f"--token-auth-file={tokens}"]
    server += ["--service-account-issuer=https://127.0.0.1", f"--service-account-key-file={key}"]
    server += [f"--service-account-signing-key-file={key}", "--service-cluster-ip-range=10.0.0.0/24"]
    server += ["--authorization-mode=AlwaysAllow", "--endpoint-reconciler-type=none", "--anonymous-auth=false"]
    with _process(etcd, folder / "etcd.log"), _process(server, folder / "kube-apiserver.log") as process:
        certificate = folder / "certificates" / "apiserver.crt"
        end = time.monotonic() + LIMIT_S
        api: ApiServer | None = None
        while api is None:
            assert process.poll() is None, (folder / "kube-apiserver.log").read_text()[-3000:]
            assert time.monotonic() < end, f"the API server is not ready in {LIMIT_S} s"
            time.sleep(0.2)
            if certificate.is_file():
                with suppress(OSError, http.client.HTTPException):
                    candidate = ApiServer(token, certificate)
                    api = candidate if candidate.ask("GET", "/readyz")[0] == 200 else None
        yield api
