"""Plans as the design writes them, and small ones; and ``railweave host`` run in a server's namespace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railweave.model.device.host import host_config
from railweave.outputs.rendering.host.host_json import document
from tests.conftest import example
from tests.netns import Namespace, Server

SOURCE = Path(__file__).parents[2] / "src"


def designed(name: str, host: str) -> dict[str, Any]:
    """The ``host.json`` of a server of an example network."""
    return document(host_config(example(name), host))


def small(*nics: str, prefix: str = "fc00:1:{nic}:{path}::/64", paths: int = 2) -> dict[str, Any]:
    """A plan for a few NICs by SLAAC, as the design would make it, with tables from 10000."""
    routes: list[dict[str, Any]] = []
    rules: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []
    table = 10000
    for number, nic in enumerate(nics, 1):
        addresses: list[dict[str, Any]] = []
        for path in range(1, paths + 1):
            net = prefix.format(nic=number, path=path)
            gateway = net.replace("::/64", "::1")
            addresses.append(
                {"path": path, "color": path, "color_name": f"c{path}", "prefix": net, "gateway": gateway}
                | {"address": None, "origin": "slaac", "table": table, "table_name": f"{nic}_{path}"}
            )
            routes.append({"table": table, "to": net, "dev": nic})
            routes.append({"table": table, "to": "default", "dev": nic, "via": gateway})
            rules.append({"table": table, "dev": nic, "from": net, "priority": 10000})
            table += 1
        shown.append(
            {"netdev": nic, "rdma": f"mlx5_{number - 1}", "rdma_port": 1, "mac": None, "gpu": number - 1}
            | {"fabric": "backend", "mtu": 1500, "addresses": addresses}
        )
    job: dict[str, Any] = {"environment": {}, "resolve": []}
    return {
        "schema": 1,
        "network": "test",
        "host": "server1",
        "nics": shown,
        "routes": routes,
        "rules": rules,
        "job": job,
    }


@dataclass(frozen=True)
class Tool:
    """``railweave host`` in a server's namespace, with its files in a folder of the test's."""

    server: Server
    folder: Path
    program: tuple[str, ...] = (sys.executable, "-m", "railweave.host")
    forks: subprocess.Popen[str] | None = None  # see forking.py
    kill_at_write: int = 0  # at which write of a file a run is killed, where it is a fork; 0: at none
    names_file: Path | None = Path("rt_tables.d/railweave.conf")  # in the folder; None: not said to the program

    @property
    def state(self) -> Path:
        return self.folder / "state.json"

    @property
    def names(self) -> Path:
        assert self.names_file is not None
        return self.folder / self.names_file

    def plan(self, document: dict[str, Any]) -> None:
        """Put a plan in place."""
        (self.folder / "host.json").write_text(json.dumps(document))

    def argv(self, verb: str, *words: str) -> list[str]:
        names = [] if self.names_file is None else ["--names-file", str(self.names)]
        files = ["--state-file", str(self.state), *names]
        host = [] if verb == "undo" else ["--host-file", str(self.folder / "host.json")]
        return [*self.program, verb, *files, *host, *words]

    def __call__(self, verb: str, *words: str, code: int = 0) -> str:
        """Run a verb that must end with this code; gives all it printed."""
        ended, said = self.ended(verb, *words)
        assert ended == code, f"{verb} {words}: {ended}\n{said}"
        return said

    def ended(self, verb: str, *words: str, path: Path | None = None) -> tuple[int, str]:
        """Run a verb; gives how it ended and all it printed. ``path``: a folder before the others on the PATH."""
        paths = f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]
        if self.forks:
            out = self.folder / "out"
            out.unlink(missing_ok=True)
            order = {"argv": self.argv(verb, *words)[len(self.program) :], "path": paths, "out": str(out)}
            order["kill_at_write"] = self.kill_at_write
            assert self.forks.stdin
            assert self.forks.stdout
            self.forks.stdin.write(json.dumps(order) + "\n")
            self.forks.stdin.flush()
            code, said = int(self.forks.stdout.readline()), out.read_text()
        else:
            done = self.server.run(
                *self.argv(verb, *words), check=False, env={"PYTHONPATH": str(SOURCE), "PATH": paths}
            )
            code, said = done.returncode, done.stdout + done.stderr
        assert "Traceback" not in said, said
        return code, said

    def batch(self, *words: str, lines: str) -> str:
        """What one ``ip`` prints for a batch; of a tool with forks, which are in the namespace already."""
        assert self.forks
        assert self.forks.stdin
        assert self.forks.stdout
        self.forks.stdin.write(json.dumps({"ip": words, "batch": lines}) + "\n")
        self.forks.stdin.flush()
        return str(json.loads(self.forks.stdout.readline()))

    def start(self, verb: str, *words: str) -> subprocess.Popen[str]:
        """Run a verb without waiting for it."""
        env = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1"}
        argv = self.server.argv(*self.argv(verb, *words))
        return subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def dump(server: Namespace) -> list[str]:
    """Everything the kernel routes by, line by line."""
    commands = [f"ip -N -{f} {what}" for f in (4, 6) for what in ("route show table all", "rule show")]
    return lines_of(server.run("sh", "-c", " && ".join(commands)).stdout)


def lines_of(shown: str) -> list[str]:
    """What ``ip`` showed, without what changes by itself."""
    return [line.split(" expires")[0].rstrip() for line in shown.splitlines()]


def in_place(tool: Tool, document: dict[str, Any]) -> None:
    """Assert that the planned tables hold the planned routes, and that the rules are the planned ones, all of them."""
    tables = {one["table"] for one in document["routes"]}
    routes: list[tuple[Any, ...]] = []
    rules: list[tuple[Any, ...]] = []
    for family in ("-4", "-6"):
        shown = tool.server.ip("-N", family, "route", "show", "table", "all")
        ours = [one for one in shown if int(one.get("table", 254)) in tables]
        routes += [(int(one["table"]), one["dst"], one["dev"], one.get("gateway")) for one in ours]
        for one in tool.server.ip("-N", family, "rule", "show"):
            if int(one["table"]) in tables:
                ends = [
                    f"{one[k]}/{one[n]}" if n in one else one.get(k, "all")
                    for k, n in (("src", "srclen"), ("dst", "dstlen"))
                ]
                rules.append((int(one["table"]), *ends, one["priority"]))
    planned = [(one["table"], one["to"], one["dev"], one.get("via")) for one in document["routes"]]
    assert sorted(routes, key=str) == sorted(planned, key=str)
    found = {rule[:3]: rule[3] for rule in rules}
    assert len(found) == len(rules) == len(document["rules"])
    for one in document["rules"]:
        priority = found[one["table"], one.get("from", "all"), one.get("to", "all")]
        assert priority == one.get("priority", priority)
