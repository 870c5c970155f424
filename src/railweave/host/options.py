"""The subcommands and options of the command line, with their help."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from pathlib import Path
from typing import NoReturn

from . import __version__, files
from .failure import HostInputError, HostUsageError
from .machine import SYSFS

HOST_FILE = Path("/etc/railweave/host.json")
STATE_FILE = Path("/var/lib/railweave/host.state.json")


def parse(argv: list[str] | None = None) -> Namespace:
    """Return the parsed options. Arguments after ``--`` are the command to run and are not parsed. Raises HostInputError."""
    words = sys.argv[1:] if argv is None else argv
    if words[:1] == ["rdma-ping"]:
        return Namespace(verb="rdma-ping", command=words[1:])
    end = words.index("--") if "--" in words else len(words)
    asked = parser().parse_args(words[:end])
    asked.command = words[end + 1 :]
    if asked.command and asked.verb != "env":
        raise HostInputError(f"railweave host {asked.verb} runs no command: {' '.join(words[end:])}")
    return asked


def wants_json(argv: list[str] | None = None) -> bool:
    """Return whether ``--json`` is among the arguments before ``--``."""
    words = sys.argv[1:] if argv is None else argv
    return words[:1] != ["rdma-ping"] and "--json" in words[: words.index("--") if "--" in words else len(words)]


class _Parser(ArgumentParser):
    """A parser that raises errors and leaves printing to the caller."""

    def error(self, message: str) -> NoReturn:
        """Raise ``HostUsageError``."""
        raise HostUsageError(message, self.format_usage(), self.prog)


def parser() -> ArgumentParser:
    """Return the parser of the whole program."""
    top = _Parser(
        prog="railweave host",
        description="Routing tables and rules, RDMA GIDs and job environment of this GPU server, from its host.json.",
        epilog="exit codes: 0 good, 1 errors found, 2 bad use or input file, 130 interrupted\n\n"
        "examples:\n  railweave host plan\n  railweave host apply --wait 60\n  railweave host undo",
        formatter_class=RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=__version__)
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name: str, help: str, more: str, *examples: str) -> ArgumentParser:  # noqa: A002 - argparse's word
        lines = "\n".join(f"  railweave host {example}" for example in examples)
        description = f"{help[0].upper()}{help[1:]}.{more and ' '}{more}"
        subparser = verbs.add_parser(
            name,
            help=help,
            description=description,
            epilog=f"examples:\n{lines}",
            formatter_class=RawDescriptionHelpFormatter,
        )
        subparser.add_argument("-q", "--quiet", action="store_true", help="do not show progress")
        return subparser

    plan = verb(
        "plan",
        "print the changes that `apply` would make, and the state of each NIC",
        "Changes nothing.\nExit code 1: a NIC is not ready, so `apply` would refuse.",
        "plan",
        "plan --wait 60",
        "plan --json --host-file H100-01.host.json",
    )
    _host_file(plan)
    _state(plan)
    _wait(plan)
    plan.add_argument("--json", action="store_true", help="print JSON")

    apply = verb(
        "apply",
        "set the routing table names, routes and rules of the plan",
        "All or nothing: a failure or\nan interrupt leaves everything as it was. A second run changes nothing.",
        "apply",
        "apply --wait 60",
        "apply --wait 300 --partial --watch     (a systemd service)",
    )
    _host_file(apply)
    _state(apply)
    apply.add_argument("--dry-run", action="store_true", help="print the changes without making them, like `plan`")
    apply.add_argument("--json", action="store_true", help="print JSON")
    apply.add_argument(
        "--partial",
        action="store_true",
        help="configure only NICs that exist and are up; list the other NICs and exit 1",
    )
    _wait(apply)
    apply.add_argument("--watch", action="store_true", help="keep running and repair later changes; exits 0 on SIGTERM")

    undo = verb(
        "undo",
        "undo all changes that `apply` has made since its first run",
        "Entries that existed before `apply` stay,\nentries that it replaced are restored.",
        "undo",
        "undo --dry-run",
    )
    _state(undo, "has no effect: the journal records the file with the names of routing tables")
    undo.add_argument("--dry-run", action="store_true", help="print the commands without running them")
    undo.add_argument("--json", action="store_true", help="print JSON")

    shown = verb(
        "show",
        "print the state of this server: links, addresses, routes, rules, GIDs, LLDP neighbors, counters",
        "Changes nothing, and\nneeds no plan. `railweave collect --servers` saves this state; `railweave check` compares it with the design.",
        "show",
        "show --json",
    )
    _sysfs(shown)
    shown.add_argument("--json", action="store_true", help="print JSON")

    gid = verb(
        "gids",
        "show the RDMA GIDs of this server, and the planned network path of each",
        "By default, only GIDs that a job can use:\nRoCE v2 and not link-local.",
        "gids",
        "gids --device mlx5_0 --all",
        "gids --check",
    )
    _host_file(gid)
    _sysfs(gid)
    gid.add_argument("--device", metavar="NAME", help="show only the GIDs of this RDMA device")
    gid.add_argument("--all", action="store_true", help="also show RoCE v1 and link-local GIDs")
    gid.add_argument("--check", action="store_true", help="exit 1 when a planned GID is missing")
    gid.add_argument("--json", action="store_true", help="print JSON")

    check = verb(
        "check",
        "check whether this server is ready for a job: compare every value with the design, and show fixes",
        "Changes nothing; only reads.\nExit code 1: a check failed. A value that cannot be read (no root, no tool) is reported, but is no failure.",
        "check",
        "check --only link --only rdma-gids",
        "check --json > before.json     ... later: check --since before.json",
        "check --slurm     (Prolog, HealthCheckProgram: the reason in one line)",
        "check --list",
    )
    _host_file(check)
    check.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="ID",
        help="run only this check, or only the checks of this subject; may be repeated",
    )
    check.add_argument(
        "--since", type=Path, metavar="FILE", help="output of an earlier `check --json`, to compare counters with"
    )
    check.add_argument(
        "--capture",
        type=Path,
        metavar="DIR",
        help="check the server that `capture` recorded in this folder, instead of this server",
    )
    _wait(check)
    check.add_argument("--all", action="store_true", help="also print checks that passed")
    check.add_argument("--list", action="store_true", help="list all checks without running them")
    form = check.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--slurm", action="store_true", help="print only one line, with the first failures")
    form.add_argument(
        "--nhc",
        action="store_true",
        help="print only one line with the first failures, in the format of LBNL Node Health Check",
    )

    capture = verb(
        "capture",
        "record everything that `check` reads on this server in a folder",
        "To check the recording on any machine:\n`railweave host check --capture DIR`.",
        "capture H100-01.machine",
    )
    capture.add_argument("folder", type=Path, metavar="DIR", help="a new folder")
    _host_file(capture)
    capture.add_argument("--json", action="store_true", help="print JSON")

    support = verb(
        "bundle",
        "write one archive for a support case: the input and the results of `check`, and the state of `apply`",
        "Words\nthat look like secrets are removed; names and addresses of this network are kept.",
        "bundle H100-01.tar.gz",
    )
    support.add_argument("file", type=Path, metavar="FILE", help="archive to write (tar with gzip)")
    _host_file(support)
    _state(support)
    support.add_argument("--json", action="store_true", help="print JSON")

    env = verb(
        "env",
        "print the environment variables of a job, or run a command with them",
        "GID indexes are looked up at the time of the call.\nVariables that are already set stay, unless --override is given or the planned value refers to them (PATH=/opt/bin:$PATH).",
        "env > job.env     then: . ./job.env",
        "env -- ./all_reduce_perf -b 8 -e 8G -f 2 -g 1",
        "env --json",
        "env --tenant blue -- ./all_reduce_perf -b 8 -e 8G -f 2 -g 1     where GPUs belong to several tenants",
    )
    _host_file(env)
    env.add_argument(
        "--tenant",
        metavar="NAME",
        help="print the environment of this tenant's jobs, with only the tenant's NICs and GPUs",
    )
    _sysfs(env)
    form = env.add_mutually_exclusive_group()
    form.add_argument("--shell", action="store_true", help="print export lines (default)")
    form.add_argument("--json", action="store_true", help="print JSON")
    env.add_argument(
        "--tuner",
        action="store_true",
        help="let NCCL use the table of the net plugin's tuner (RAILWEAVE_NET_TUNER=1); use on all servers or none",
    )
    env.add_argument(
        "--override", action="store_true", help="let the plan's values replace variables that are already set"
    )

    verb(
        "rdma-ping",
        "send RDMA writes over every path to another host; print loss, round trip times and dead paths",
        "Runs\nrailweave-rdma-ping of the net plugin; all arguments are passed to that program.",
        "rdma-ping --server        on the one",
        "rdma-ping H100-02         on the other",
        "rdma-ping --help",
    )

    plugin = verb(
        "plugin",
        "show statistics of the net plugin on this server, or diagnose its setup",
        "stats: totals by direction,\nNIC, path color and remote leaf, from running processes. doctor: compares speed, MTU, addresses, GPU memory,\n"
        "timeouts and variables with host.json; exit code 1: an error was found.",
        "plugin stats --interval 2",
        "plugin stats --prometheus > /var/lib/node_exporter/textfile/railweave.prom",
        "env -- railweave host plugin doctor",
    )
    plugin.add_argument("what", choices=("stats", "doctor"))
    _host_file(plugin)
    _sysfs(plugin)
    plugin.add_argument(
        "--interval",
        type=_seconds,
        default=1.0,
        metavar="SECONDS",
        help="time over which rates are measured (default: 1); 0: print no rates",
    )
    shm = Path("/dev/shm")  # noqa: S108 - where the plugin's processes write; here it is only read
    plugin.add_argument(
        "--shm",
        type=Path,
        default=shm,
        metavar="DIRECTORY",
        help=f"folder to which the plugin's processes write their statistics (default: {shm})",
    )
    form = plugin.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument(
        "--prometheus",
        action="store_true",
        help="stats only: print in the format of node_exporter's textfile collector",
    )

    metrics = verb(
        "metrics",
        "print counters of the planned NICs and of the net plugin for Prometheus",
        "The format is that of\nnode_exporter's textfile collector. Counters with the same meaning have the same name for all drivers.",
        "metrics --out /var/lib/prometheus/node-exporter/railweave.prom --interval 15     (a systemd service)",
        "metrics --json",
    )
    _host_file(metrics)
    _sysfs(metrics)
    metrics.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="write the counters to this file (replaced as a whole) instead of printing them",
    )
    metrics.add_argument(
        "--interval",
        type=_seconds,
        default=0.0,
        metavar="SECONDS",
        help="with --out: time between writes; SIGTERM ends the program and removes the file (default: write once)",
    )
    metrics.add_argument(
        "--shm",
        type=Path,
        default=shm,
        metavar="DIRECTORY",
        help=f"folder of the statistics of the plugin's processes (default: {shm})",
    )
    metrics.add_argument("--json", action="store_true", help="print JSON")

    zipapp = verb(
        "zipapp",
        "write `railweave host` as one executable file, for servers without railweave",
        "The servers need Python 3.9 or newer\nand iproute2.",
        "zipapp railweave-host.pyz",
    )
    zipapp.add_argument("file", type=Path, metavar="FILE")
    zipapp.add_argument("--json", action="store_true", help="print JSON")
    return top


def _host_file(verb: ArgumentParser) -> None:
    given = os.environ.get("RAILWEAVE_HOST_FILE")
    verb.add_argument(
        "--host-file",
        type=Path,
        default=Path(given) if given else HOST_FILE,
        metavar="FILE",
        help=f"this server's plan (default: $RAILWEAVE_HOST_FILE, else {HOST_FILE})",
    )


def _state(
    verb: ArgumentParser,
    names_help: str = f"file for the names of routing tables (default: the file in use, else {files.RT_TABLES_FILE})",
) -> None:
    verb.add_argument(
        "--state-file",
        type=Path,
        default=STATE_FILE,
        metavar="FILE",
        help=f"the journal, which records the changes that `apply` made (default: {STATE_FILE})",
    )
    verb.add_argument(
        "--names-file",
        type=Path,
        metavar="FILE",
        help=names_help,
    )


def _wait(verb: ArgumentParser) -> None:
    verb.add_argument(
        "--wait",
        type=_seconds,
        default=0.0,
        metavar="SECONDS",
        help="longest time to wait for links and addresses (default: 0); exit 1 if any is still missing",
    )


def _sysfs(verb: ArgumentParser) -> None:
    verb.add_argument("--sysfs", type=Path, default=SYSFS, metavar="DIR", help="folder of sysfs (default: /sys)")


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e7:
        raise ArgumentTypeError(f"{text!r} is not a number of seconds")
    return value
