"""A stand-in for the configuration of a SONiC switch: CONFIG_DB, JSON patches, checkpoints, reloads, lines of FRRouting.

The scripts of railweave run as they are, in a shell of this machine; ``config``, ``vtysh``, ``sonic-cfggen``, ``docker`` and ``systemctl`` are
programs of its own that ask the box. It proves our client, not SONiC.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socketserver
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Tables = dict[str, dict[str, dict[str, Any]]]
Lines = list[tuple[str, "Lines"]]

_CLIENT = """#!/bin/bash
exec 3<> "/dev/tcp/127.0.0.1/$SONIC_BOX" && printf '%s\\0' $# "${0##*/}" "$@" >&3
read -r status <&3
if [ "$status" = 0 ]; then cat <&3; else cat <&3 >&2; fi
exit "$status"
"""
_SHELL = {
    "id": "#!/bin/sh\necho 0\n",
    "docker": '#!/bin/sh\nwhile [ "$1" != bgp ]; do shift; done; shift; exec "$@"\n',
    "sleep": '#!/bin/sh\nexec /bin/sleep "$("${0%/*}/longer" "$1")"\n',
    "systemd-run": """#!/bin/sh
unit=run-$$ seconds=0
while :; do case $1 in --unit=*) unit=${1#*=};; --on-active=*) seconds=${1#*=};; --*) ;; *) break;; esac; shift; done
setsid sh -c 'echo $$ > "$0/../units/$1"; sleep "$2"; shift 2; exec "$@"' "${0%/*}" "$unit" "$seconds" "$@" > /dev/null 2>&1 < /dev/null 9>&- &
""",
}
GATED = ("BUFFER_POOL", "BUFFER_PROFILE", "PFC_WD", "WRED_PROFILE")
"""Tables that its patch tool does not change."""


class WrongError(Exception):
    """A program of the box fails, with this on its standard error."""


@dataclass
class SonicBox:
    """``tables`` and ``frr`` are what it runs. ``log`` has every command that is no question. ``breaks_after``: its next patch stops after so many operations."""

    tables: Tables
    frr: str
    refuses: str = "nonsense"
    """The beginning of a line that its FRRouting does not know, also inside a section; or of a JSON pointer that its patch tool refuses."""
    late: str = ""
    """The beginning of a line that FRRouting refuses only when it is carried out."""
    breaks_after: int | None = None
    scale: float = 1
    """How many seconds one of its seconds has."""
    log: list[str] = field(default_factory=list[str])
    before: Callable[[str], None] = lambda _: None
    """Called with each command before it is carried out."""
    more: Callable[[list[str]], str | None] = lambda _: None
    """Carries out ``sonic-installer`` and ``reboot``; None: it is refused."""
    checkpoints: dict[str, Tables] = field(default_factory=dict[str, Tables])
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="box-")))
    _guard: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        box, programs = self, self.folder / "bin"
        for place in (programs, self.folder / "etc/frr", self.folder / "deploy", self.folder / "units"):
            place.mkdir(parents=True)
        for name in ("config", "vtysh", "sonic-cfggen", "systemctl", "longer", "sonic-installer", "reboot"):
            (programs / name).write_text(_CLIENT)
        for name, text in _SHELL.items():
            (programs / name).write_text(text)
        for one in programs.iterdir():
            one.chmod(0o755)
        self.frr = printed(parsed(self.frr))
        self.save()

        class Ask(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                said = b""
                while not said or said.count(b"\0") < int(said.split(b"\0")[0]) + 2:
                    said += self.request.recv(65536)
                status, text = box.program(said.decode().split("\0")[1:-1])
                with suppress(BrokenPipeError, ConnectionResetError):
                    self.wfile.write(f"{status}\n{text}".encode())

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Ask)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def shell(self) -> list[str]:
        """Words before a command that is run on it."""
        own = {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "RAILWEAVE_DEPLOY_FOLDER": self.folder / "deploy",
            "RAILWEAVE_SONIC_FOLDER": self.folder / "etc",
            "RAILWEAVE_SYSTEMD_FOLDER": self.folder / "units",
            "SONIC_BOX": self._server.server_address[1],
        }
        return ["env", *(f"{name}={value}" for name, value in own.items())]

    @property
    def waits(self) -> bool:
        return any(self.folder.glob("deploy/*/armed"))

    @property
    def left(self) -> list[str]:
        """What of changes is on it."""
        return [*(one.name for one in (self.folder / "deploy").iterdir()), *self.checkpoints]

    @property
    def running(self) -> tuple[str, str]:
        """What it runs, in the same order whatever was done before."""
        with self._guard:
            return normal(self.tables, self.frr)

    @property
    def saved(self) -> tuple[str, str]:
        """What it would run after a restart, in the same form."""
        etc = self.folder / "etc"
        return normal(json.loads((etc / "config_db.json").read_text()), (etc / "frr/frr.conf").read_text())

    @property
    def busy(self) -> bool:
        """Whether something is under way on it that no login waits for."""
        return any(not (one.parent / "result").exists() for one in self.folder.glob("deploy/*/*.log"))

    def save(self) -> None:
        (self.folder / "etc/config_db.json").write_text(json.dumps(self.tables))
        (self.folder / "etc/frr/frr.conf").write_text(self.frr)

    def restart(self) -> None:
        """It comes up with what is on its disk; timers are gone, and it says another boot."""
        for one in self.folder.glob("units/*"):
            self._stop(one.name)
        for one in self.folder.glob("deploy/*/armed"):
            one.write_text(f"{one.read_text().split()[0]} another-boot\n")
        self._config(["reload", str(self.folder / "etc/config_db.json")])

    def close(self) -> None:
        """End it, and the timers of changes that wait."""
        for one in self.folder.glob("units/*"):
            self._stop(one.name)
        self._server.shutdown()
        self._server.server_close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _stop(self, unit: str) -> None:
        with suppress(ProcessLookupError, ValueError, FileNotFoundError):
            os.killpg(int((self.folder / "units" / unit).read_text()), signal.SIGKILL)

    def program(self, words: list[str]) -> tuple[int, str]:
        """Carry out a program: its exit status, and what it prints, where that is not 0 on its standard error."""
        said = " ".join(words)
        if words[0] in {"config", "systemctl"} or said == "vtysh -c write memory" or "--inputfile" in words:
            self.log.append(said)
        self.before(said)
        work = {
            "config": self._config,
            "vtysh": self._vtysh,
            "sonic-cfggen": self._cfggen,
            "systemctl": self._systemctl,
            "sonic-installer": self._more("sonic-installer"),
            "reboot": self._more("reboot"),
            "longer": lambda words: str(float(words[0]) * self.scale),
        }
        try:
            with self._guard:
                return 0, work[words[0]](words[1:])
        except WrongError as error:
            return 1, f"{error}\n"

    def _more(self, name: str) -> Callable[[list[str]], str]:
        def work(words: list[str]) -> str:
            if (said := self.more([name, *words])) is None:
                raise WrongError(f"{name}: it failed")
            return said

        return work

    def _cfggen(self, words: list[str]) -> str:
        tables = self.tables if "-d" in words else json.loads(Path(words[words.index("-j") + 1]).read_text())
        return json.dumps(tables)

    def _systemctl(self, words: list[str]) -> str:
        if words == ["restart", "bgp"]:
            self.frr = printed(parsed((self.folder / "etc/frr/frr.conf").read_text()))
        elif words[0] == "stop":
            self._stop(words[1].removesuffix(".timer"))
        return ""

    def _config(self, words: list[str]) -> str:
        verb, last = words[0], words[-1]
        if verb == "apply-patch":
            self._patch(json.loads(Path(last).read_text()), dry="--dry-run" in words)
        elif verb == "checkpoint":
            self.checkpoints[last] = deepcopy(self.tables)
        elif verb == "rollback":
            self._replace(self._checkpoint(last))
        elif verb == "delete-checkpoint":
            self._checkpoint(last)
            del self.checkpoints[last]
        elif verb == "replace":
            self._replace(json.loads(Path(last).read_text()))
        elif verb == "reload":
            self.tables = json.loads(Path(last).read_text())
            self._systemctl(["restart", "bgp"])
        elif verb == "save":
            (self.folder / "etc/config_db.json").write_text(json.dumps(self.tables))
        else:
            raise WrongError(f"Error: No such command '{verb}'.")
        return "done\n"

    def _checkpoint(self, name: str) -> Tables:
        if name not in self.checkpoints:
            raise WrongError(f"Checkpoint '{name}' does not exist")
        return deepcopy(self.checkpoints[name])

    def _patch(self, patch: list[dict[str, Any]], *, dry: bool) -> None:
        new = deepcopy(self.tables)
        for at, operation in enumerate(patch):
            if self.refuses and str(operation["path"]).startswith(self.refuses):
                raise WrongError(f"Failed to apply patch due to: {operation['path']} is not valid")
            if not dry and self.breaks_after == at:
                self.tables, self.breaks_after = new, None
                raise WrongError("Failed to apply patch due to: the change was not carried out")
            operated(new, operation)
        self._allowed(new)
        if not dry:
            self.tables = new

    def _replace(self, new: Tables) -> None:
        self._allowed(new)
        self.tables = new

    def _allowed(self, new: Tables) -> None:
        if found := [one for one in GATED if new.get(one) != self.tables.get(one)]:
            raise WrongError(
                f"Failed to apply patch due to: Modification of {found[0]} table is illegal- validating function returned False"
            )
        if empty := [name for name, rows in new.items() if not rows]:
            raise WrongError(f"Failed to apply patch due to: it will result in empty tables: {empty[0]}")

    def _vtysh(self, words: list[str]) -> str:
        if words[0] == "-c":
            if words[1] == "write memory":
                (self.folder / "etc/frr/frr.conf").write_text(self.frr)
                return "Integrated configuration saved to /etc/frr/frr.conf\n"
            head = "" if words[1].endswith("no-header") else "Building configuration...\n\nCurrent configuration:\n!\n"
            return head + self.frr
        lines = Path(words[words.index("--inputfile") + 1]).read_text().splitlines()
        dry = "--dryrun" in words
        unknown = [
            at
            for at, one in enumerate(lines)
            if one.strip().startswith(tuple(filter(None, (self.refuses, "" if dry else self.late))))
        ]
        if not dry:
            known = [one for at, one in enumerate(lines) if at not in unknown]
            self.frr = printed(entered(parsed(self.frr), parsed("\n".join(known))))
        return "".join(f"line {at + 1}: % Unknown command: {lines[at]}\n" for at in unknown)


def normal(tables: Tables, lines: str) -> tuple[str, str]:
    """What runs, in the same order whatever was done before."""
    return json.dumps(tables, sort_keys=True), "\n".join(sorted(lines.splitlines()))


def operated(tables: Tables, operation: Mapping[str, Any]) -> None:
    """Carry out one operation of a JSON patch (RFC 6902): remove, add or replace. Raises ``WrongError``."""
    *above, last = [one.replace("~1", "/").replace("~0", "~") for one in str(operation["path"]).split("/")[1:]]
    place: Any = tables
    for name in above:
        if name not in place:
            raise WrongError(f"Failed to apply patch due to: member '{name}' not found in {operation['path']}")
        place = place[name]
    if operation["op"] != "add" and last not in place:
        raise WrongError(f"Failed to apply patch due to: can't {operation['op']} non-existent object '{last}'")
    if operation["op"] == "remove":
        del place[last]
    else:
        place[last] = deepcopy(operation["value"])


_ENDS = re.compile(r"!|exit(-\S+)?|end|Building configuration.*|Current configuration.*")
_ONE_VALUE = re.compile(
    r"(description|(ip|ipv6) prefix-list \S+ seq \d+|bgp \S+-list standard \S+ seq \d+|ipv6 nd ra-\S+|set (local-preference|large-community|community|as-path prepend)|bgp router-id|maximum-paths|"
    r"neighbor \S+ (description|timers connect|bfd profile)|match ipv6 address prefix-list|match large-community) "
)


def parsed(text: str) -> Lines:
    """Lines by their indentation, each with those inside."""
    top: Lines = []
    open_at: list[tuple[int, Lines]] = [(-1, top)]
    for line in text.splitlines():
        words, depth = line.strip(), len(line) - len(line.lstrip())
        if not words or _ENDS.fullmatch(words):
            continue
        while open_at[-1][0] >= depth:
            open_at.pop()
        inside: Lines = []
        open_at[-1][1].append((words, inside))
        open_at.append((depth, inside))
    return top


def printed(lines: Lines, depth: int = 0) -> str:
    """Lines as FRRouting prints them."""
    text = ""
    for line, inside in lines:
        text += f"{' ' * depth}{line}\n"
        if inside:
            ends = "exit-address-family" if line.startswith("address-family") else "exit"
            text += printed(inside, depth + 1) + f"{' ' * depth}{ends}\n" + ("!\n" if depth == 0 else "")
    return text


def entered(standing: Lines, typed: Lines) -> Lines:
    """What stands after lines were typed."""
    for line, inside in typed:
        rest = line.removeprefix("no ")
        if rest != line and (gone := [one for one in standing if f"{one[0]} ".startswith(f"{rest} ")]):
            words = rest.split()
            if words[0] == "neighbor" and (words[2:3] == ["peer-group"] or words[2:4] == ["interface", "remote-as"]):
                standing = without(standing, f"neighbor {words[1]} ")
            standing = [one for one in standing if one not in gone]
            continue
        if any(one[0] == f"no {line}" for one in standing):
            standing = [one for one in standing if one[0] != f"no {line}"]
            continue
        at = next((at for at, one in enumerate(standing) if one[0] == line), None)
        if at is not None:
            standing[at] = (line, entered(standing[at][1], inside))
            continue
        old = next((at for at, one in enumerate(standing) if _replaced(one[0], line)), None)
        if old is None:
            standing = [*standing, (line, entered([], inside))]
        else:
            standing[old] = (line, [])
    return standing


def _replaced(standing: str, line: str) -> bool:
    """Whether a line takes the place of one that stands: one value each, and one route-map of a neighbor each way."""
    if key := _ONE_VALUE.match(line):
        return standing.startswith(key[0])
    words, others = line.split(), standing.split()
    return (
        words[0] == "neighbor" and words[2:3] == ["route-map"] and [*words[:3], words[4:]] == [*others[:3], others[4:]]
    )


def without(lines: Lines, start: str) -> Lines:
    """Lines that do not begin so, here and inside."""
    return [(line, without(inside, start)) for line, inside in lines if not f"{line} ".startswith(start)]
