"""Rendering of the files of switches and servers. It runs in parallel with the checks, and skips files that are already up to date."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import railweave
from railweave.errors import FileLine, InputError, Option, Problem, RenderError
from railweave.model.config.secret_words import REFERENCE
from railweave.model.device.host import config_of
from railweave.model.device.host_scope import HostScope, host_scope
from railweave.model.intent.reading.document import read_document
from railweave.outputs.folder.write import OPEN, EarlierBuild
from railweave.outputs.rendering.network import (
    config_file,
    server_files,
    shared_files,
    switch_configs,
    switch_files,
    switch_gaps,
)
from railweave.reading import file_bytes, readable_by_others
from railweave.systems import system
from railweave.tool_roots import trusted_users
from railweave.workers import spreading

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding
    from railweave.model.network.model import Network


class Secrets(dict[str, str]):
    """The values of secrets, by name. If they come from a file, ``lines`` has the file and line of each secret."""

    def __init__(self, values: dict[str, str] | None = None, lines: dict[str, FileLine] | None = None) -> None:
        super().__init__(values or {})
        self.lines = lines or {}


def read_secrets(path: Path | None) -> Secrets:
    """Return the secrets in a file, or none if ``path`` is None.

    Raises ``InputError`` if the file is not valid, or if users other than its owner can read it.
    """
    if path is None:
        return Secrets()
    _check_private(path)
    document = read_document(path, as_text=True, start="write NAME: value, one a line")
    content: object = document.value
    if not isinstance(content, dict):
        raise InputError([Problem(FileLine(str(path), 1), "not a list of secrets", "write NAME: value, one a line")])
    given = cast("dict[str | int, Any]", content)
    words = {str(name): value for name, value in given.items()}
    for name, value in words.items():
        if not isinstance(value, str):
            message = f"secret {name!r} is not a single value"
            raise InputError([Problem(FileLine(str(path), 1), message, "write NAME: value, one a line")])
        if not value.strip():
            line = document.line((name,)) if name in given else 1
            fix = "write its value, or leave the line out"
            raise InputError([Problem(FileLine(str(path), line), f"secret {name!r} is empty", fix)])
    return Secrets(words, {str(name): FileLine(str(path), document.line((name,))) for name in given})


def _check_private(path: Path) -> None:
    try:
        status = path.stat()
    except OSError:  # reported where the file is read
        return
    if status.st_uid not in trusted_users():
        message = f"the secrets belong to user {status.st_uid}, who can read and change them"
        raise InputError(
            [Problem(FileLine(str(path)), message, f"copy them into a file of your own: chmod 600 {path}")]
        )
    if mode := readable_by_others(path):
        raise InputError([Problem(FileLine(str(path)), f"others can read the secrets ({mode})", f"chmod 600 {path}")])


_USED = re.compile(r"(?<=\bsecret:)[\w./:@-]+")
"""The pattern that finds the names of secrets in a configuration's ``repr``. The operator's own statements are part of this text."""
_OPEN = re.compile(REFERENCE.pattern.encode())


class RenderedFiles(NamedTuple):
    """The result of rendering.

    - ``files``: the content of the files to write, by path.
    - ``kept``: the digests of existing files that stay, by path.
    - ``keys``: by folder, a key that identifies the input from which the folder's files were rendered.
    - ``gaps``: findings about features of the design that an operating system's configuration cannot express.
    """

    files: dict[str, bytes]
    kept: dict[str, str]
    keys: dict[str, str]
    gaps: list[Finding]
    open_secrets: int
    """The number of files that contain references to secrets instead of their values."""
    open_names: frozenset[str]
    """The names of secrets that files refer to and that have no value. The set is empty if no file of secrets is given."""
    used_names: frozenset[str]
    """The names of all secrets to which devices refer. The set is empty if no file of secrets is given."""


class _Folder(NamedTuple):
    """The result of rendering one folder. ``files`` is None if the existing files stay.

    ``key`` identifies the input from which the folder is rendered; empty if the folder is always rendered again.
    """

    key: str
    files: dict[str, bytes] | None
    gaps: Sequence[Finding] = ()
    open_secrets: int = 0
    open_names: frozenset[str] = frozenset()
    used_names: frozenset[str] = frozenset()


@contextlib.contextmanager
def rendering_servers(
    network: Network, earlier: EarlierBuild, tables: Mapping[str, Callable[[Network], bytes]]
) -> Generator[Callable[[], RenderedFiles]]:
    """Start rendering the servers, and yield a function that waits for the result and returns it.

    The result includes the files that all servers share. ``earlier`` has the files of the last build, which stay if they are up to date.
    ``tables`` has, by path, a function that returns the content of the file, computed from the network only. These functions run in
    parallel with the rendering of servers.
    """
    words, program = _Words(), _program(network)

    def server(name: str) -> _Folder:
        if name in tables:
            return _Folder("", {name: tables[name](network)})
        if name == "hosts":
            return _Folder("", {path: text.encode() for path, text in shared_files(network).items()})
        scope = host_scope(network, name.removeprefix("hosts/"))
        key = _key(program, *_words_of(scope, words))
        if earlier.has(name, key):
            return _Folder(key, None)
        return _Folder(key, {path: text.encode() for path, text in server_files(config_of(scope)).items()})

    folders = [*tables, "hosts", *(f"hosts/{server.name}" for server in network.servers)]
    with spreading(server, folders) as results:
        yield lambda: _together(folders, results(), earlier)


@contextlib.contextmanager
def rendering_switches(
    network: Network, by_switch: Mapping[str, DeviceConfig], secrets: Mapping[str, str], earlier: EarlierBuild
) -> Generator[Callable[[], RenderedFiles]]:
    """Start rendering the switches from their configurations, and yield a function that waits for the result and returns it.

    ``secrets`` has the values of secrets by name. ``earlier`` has the files of the last build, which stay if they are up to date.
    """
    given, program = sorted(secrets.items()), _program(network)

    def switch(folder: str) -> _Folder:
        configs = switch_configs(network, by_switch[folder.removeprefix("devices/")])
        key = _key(program, configs, given)
        gaps = switch_gaps(configs)
        used = frozenset(_USED.findall(repr(configs))) if secrets else frozenset[str]()
        # If a folder is up to date, only the number of its references is known. The names are known only after rendering it again.
        if earlier.has(folder, key) and not (secrets and earlier.whole[folder]):
            return _Folder(key, None, gaps, earlier.whole[folder], used_names=used)
        files = {
            path: with_secrets(path, text, secrets, config.nos).encode()
            for config in configs
            for path, text in switch_files(config).items()
        }
        unset = sum(OPEN in content for content in files.values())
        as_value = {path: text.encode() for path, text in config_file(configs[0]).items()}
        names = {name.decode() for content in files.values() if OPEN in content for name in _OPEN.findall(content)}
        return _Folder(key, files | as_value, gaps, unset, frozenset(names - set(secrets)), used)

    folders = [f"devices/{switch.name}" for switch in network.switches]
    with spreading(switch, folders) as results:
        yield lambda: _together(folders, results(), earlier)


def _together(folders: Sequence[str], rendered: Sequence[_Folder], earlier: EarlierBuild) -> RenderedFiles:
    files: dict[str, bytes] = {}
    kept: dict[str, str] = {}
    for folder, result in zip(folders, rendered, strict=True):
        if result.files is None:
            kept |= earlier.files[folder]
        else:
            files |= result.files
    return RenderedFiles(
        files,
        kept,
        {folder: result.key for folder, result in zip(folders, rendered, strict=True) if result.key},
        [gap for result in rendered for gap in result.gaps],
        sum(result.open_secrets for result in rendered),
        frozenset().union(*(result.open_names for result in rendered)),
        frozenset().union(*(result.used_names for result in rendered)),
    )


def joined(parts: Sequence[RenderedFiles]) -> RenderedFiles:
    """Return the results of rendering in ``parts``, such as those of switches and of servers, merged into one."""
    return RenderedFiles(
        {name: content for part in parts for name, content in part.files.items()},
        {name: value for part in parts for name, value in part.kept.items()},
        {folder: key for part in parts for folder, key in part.keys.items()},
        [gap for part in parts for gap in part.gaps],
        sum(part.open_secrets for part in parts),
        frozenset().union(*(part.open_names for part in parts)),
        frozenset().union(*(part.used_names for part in parts)),
    )


class _Words:
    """A cache of the ``repr`` of objects that many servers share, so that each ``repr`` is computed only once."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[object, str]] = {}

    def __call__(self, value: object) -> str:
        cached = self._found.get(id(value))
        if cached is None:
            cached = self._found[id(value)] = value, repr(value)  # keeps the value, so that its id is not reused
        return cached[1]


def _words_of(scope: HostScope, words: _Words) -> Iterator[object]:
    """Yield the values of ``scope`` that determine a server's files. A digest of them shows if the files are up to date.

    Values that the server shares with other servers are replaced by their ``repr``, which ``words`` computes only once.
    """
    for field in fields(scope):
        value: object = getattr(scope, field.name)
        if isinstance(value, dict):
            yield [(name, words(part)) for name, part in cast("dict[str, object]", value).items()]
        else:
            yield value if value is scope.server else words(value)


def _key(*parts: object) -> str:
    """Return a digest of values. The ``repr`` of each must describe it completely, as with frozen dataclasses and models of plain values."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def _program(network: Network) -> str:
    """Return a text that identifies the inputs that all rendering shares: the digest of the program, and the network's own hardware."""
    return program_digest() + ("" if network.hardware.empty else repr(network.hardware))


@lru_cache(maxsize=1)
def program_digest() -> str:
    """Return a digest of the program's version and source, because any change in them may change the rendered files."""
    hasher = hashlib.blake2b(railweave.__version__.encode(), digest_size=16)
    here = Path(railweave.__file__).parent
    for path in sorted(here.rglob("*")):
        if path.suffix in {".py", ".sh", ".yaml"}:
            content = file_bytes(path)
            hasher.update(f"{path.relative_to(here)} {len(content)}\n".encode() + content)
    return hasher.hexdigest()


def with_secrets(path: str, text: str, secrets: Mapping[str, str], nos: str) -> str:
    """Return a file's text with references to secrets replaced by their values, quoted as the file type requires.

    ``path`` is the path of the file, and ``nos`` the operating system of its switch. Raises ``InputError`` if a file of this type cannot
    contain a secret's value.
    """
    file = path.rpartition("/")[2]

    def shown(match: re.Match[str]) -> str:
        name = match[1]
        if name not in secrets:
            return match[0]
        if file.endswith(".json"):
            return json.dumps(secrets[name])[1:-1]
        try:
            return system(nos).quoted(file, secrets[name])
        except RenderError as error:
            place = secrets.lines[name] if isinstance(secrets, Secrets) else Option("--secrets", name)
            message = f"secret {name!r} cannot be written into {file}: {error.what}"
            raise InputError([Problem(place, message, "choose another value, and set it where it is used")]) from None

    return REFERENCE.sub(shown, text) if secrets else text
