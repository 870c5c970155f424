"""The files of switches and servers, rendered beside the checks; those that stand in the output already are not.

A folder ``devices/NAME`` or ``hosts/NAME`` follows from the configuration of that device alone, from the secrets, and
from the program. The digest of the three is its key. ``manifest.json`` holds a stamp of key and files; where the stamp
is that of the key wanted, and every file has its digest on the disk, rendering would write the same again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import railweave
from railweave.build.write import by_folder, digest, read_manifest, stamp
from railweave.device.host import host_config
from railweave.render.junos.tree import quoted
from railweave.render.network import server_files, shared_files, switch_configs, switch_files, switch_gaps
from railweave.render.workers import spreading

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from railweave.design.network import Network
    from railweave.device.model import DeviceConfig
    from railweave.findings import Finding


class Rendered(NamedTuple):
    """What all devices came to: content of ``files`` to write, digests of ``kept`` ones, the key of every folder."""

    files: dict[str, bytes]
    kept: dict[str, str]
    keys: dict[str, str]
    gaps: list[Finding]
    open_secrets: int


class _Member(NamedTuple):
    """A server as the files see it that all servers share."""

    library: str
    gpu_vendor: str
    gpus: int
    job_fabric: str


class _Folder(NamedTuple):
    """One folder as a worker gives it; ``files`` is None where what stands there is kept."""

    key: str
    files: dict[str, bytes] | None
    gaps: list[Finding]
    open_secrets: int = 0
    member: _Member | None = None


@contextlib.contextmanager
def rendering(
    network: Network,
    own: Mapping[str, DeviceConfig],
    secrets: Mapping[str, str],
    out: Path,
    tables: Mapping[str, Callable[[Network], bytes]],
) -> Generator[Callable[[], Rendered]]:
    """Start rendering for the output folder ``out``; what is given waits for the result.

    ``tables`` are files by path that follow from the network alone: they are worked out beside the others.
    """
    manifest = read_manifest(out)
    before = by_folder(manifest.files)
    program = program_digest()

    def standing(folder: str, key: str) -> dict[str, bytes] | None:
        """The files of an earlier build, where they are what rendering gives."""
        files = before.get(folder, {})
        if not files or manifest.rendered.get(folder) != stamp(key, files):
            return None
        found: dict[str, bytes] = {}
        for name, value in files.items():
            try:
                with open(f"{out}/{name}", "rb") as stream:  # noqa: PTH123 - pathlib takes a second more for 18,000
                    found[name] = stream.read()
            except OSError:
                return None
            if digest(found[name]) != value:
                return None
        return found

    def switch(name: str) -> _Folder:
        configs = switch_configs(network, own[name])
        key = _key(program, configs, sorted(secrets.items()))
        kept = standing(f"devices/{name}", key)
        files = kept or {
            path: _with_secrets(path, text, secrets).encode() for path, text in switch_files(configs).items()
        }
        still = sum(b"<secret:" in content for content in files.values())
        return _Folder(key, None if kept else files, switch_gaps(configs), still)

    def server(name: str) -> _Folder:
        config = host_config(network, name)
        key = _key(program, config)
        files = None
        if standing(f"hosts/{name}", key) is None:
            files = {path: text.encode() for path, text in server_files(config).items()}
        return _Folder(
            key, files, [], member=_Member(config.library, config.gpu_vendor, config.gpus, config.job_fabric)
        )

    def render(folder: str) -> _Folder:
        if folder in tables:
            return _Folder("", {folder: tables[folder](network)}, [])
        kind, _, name = folder.partition("/")
        return switch(name) if kind == "devices" else server(name)

    folders = list(tables)
    folders += [f"devices/{one.name}" for one in network.switches]
    folders += [f"hosts/{one.name}" for one in network.servers]
    with spreading(render, folders) as results:
        yield lambda: _together(network, dict(zip(folders, results(), strict=True)), before)


def _together(network: Network, found: Mapping[str, _Folder], before: Mapping[str, dict[str, str]]) -> Rendered:
    members = {folder.partition("/")[2]: one.member for folder, one in found.items() if one.member is not None}
    files = {name: text.encode() for name, text in shared_files(network, members).items()}
    kept: dict[str, str] = {}
    for folder, one in found.items():
        if one.files is None:
            kept |= before[folder]
        else:
            files |= one.files
    return Rendered(
        files,
        kept,
        {folder: one.key for folder, one in found.items() if one.key},
        [gap for one in found.values() for gap in one.gaps],
        sum(one.open_secrets for one in found.values()),
    )


def _key(*parts: object) -> str:
    """The digest of values whose ``repr`` tells them apart: frozen dataclasses and models of plain values."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


@lru_cache(maxsize=1)
def program_digest() -> str:
    """The digest of the program's version and source: any change of it may change what is rendered."""
    found = hashlib.blake2b(railweave.__version__.encode(), digest_size=16)
    here = Path(railweave.__file__).parent
    for path in sorted(here.rglob("*")):
        if path.suffix in {".py", ".sh", ".yaml"}:
            content = path.read_bytes()
            found.update(f"{path.relative_to(here)} {len(content)}\n".encode() + content)
    return found.hexdigest()


def _with_secrets(path: str, text: str, secrets: Mapping[str, str]) -> str:
    """References in a file replaced by what they stand for, quoted as files of its kind are."""
    for name, value in secrets.items():
        if path.endswith(".json"):
            shown = json.dumps(value)[1:-1]
        elif path.endswith(("junos.conf", "junos.set")):
            shown = quoted(value)
        else:
            shown = value
        text = text.replace(f"<secret:{name}>", shown)
    return text
