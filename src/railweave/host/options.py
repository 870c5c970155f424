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
        "print what apply would do, and the state of each NIC",
        "Changes nothing.\nExit code 1: a NIC is not ready, so that apply would refuse.",
        "plan",
        "plan --wait 60",
        "plan --json --host-file H100-01.host.json",
    )
    _host_file(plan)
    _state(plan)
    _wait(plan)
    plan.add_argument("--json", action="store_true", help="for machines")

    apply = verb(
        "apply",
        "bring table names, routes and rules to the plan",
        "All or nothing: a failure or\nan interrupt leaves everything as it was. A second run changes nothing.",
        "apply",
        "apply --wait 60",
        "apply --wait 300 --partial --watch     (a systemd service)",
    )
    _host_file(apply)
    _state(apply)
    apply.add_argument("--dry-run", action="store_true", help="print what would be done, as plan does")
    apply.add_argument("--json", action="store_true", help="for machines")
    apply.add_argument(
        "--partial", action="store_true", help="do the NICs that are there and up; name the rest, exit 1"
    )
    _wait(apply)
    apply.add_argument("--watch", action="store_true", help="stay, and repair what is changed; ends with 0 on SIGTERM")

    undo = verb(
        "undo",
        "take back all that apply did, since the first time",
        "What was there before it stays,\nwhat it replaced returns.",
        "undo",
        "undo --dry-run",
    )
    _state(undo, "of no effect: the journal knows where the names of routing tables are")
    undo.add_argument("--dry-run", action="store_true", help="print the commands only")
    undo.add_argument("--json", action="store_true", help="for machines")

    shown = verb(
        "show",
        "print what this server has: links, addresses, routes, rules, GIDs, LLDP neighbors, counters",
        "Changes nothing, and\nneeds no plan. railweave collect --servers asks for it, railweave check compares it.",
        "show",
        "show --json",
    )
    _sysfs(shown)
    shown.add_argument("--json", action="store_true", help="for machines")

    gid = verb(
        "gids",
        "show the RDMA GIDs of this server, and which path each is",
        "By default those a job can use:\nRoCE v2, no link-local ones.",
        "gids",
        "gids --device mlx5_0 --all",
        "gids --check",
    )
    _host_file(gid)
    _sysfs(gid)
    gid.add_argument("--device", metavar="NAME", help="of this RDMA device only")
    gid.add_argument("--all", action="store_true", help="RoCE v1 and link-local ones, too")
    gid.add_argument("--check", action="store_true", help="exit 1 when a planned GID is missing")
    gid.add_argument("--json", action="store_true", help="for machines")

    check = verb(
        "check",
        "is this server ready for a job? Every value against the design, with what mends it",
        "Reads only.\nExit code 1: something failed. What could not be seen (no root, no tool) is said, and is no failure.",
        "check",
        "check --only link --only rdma-gids",
        "check --json > before.json     ... later: check --since before.json",
        "check --slurm     (Prolog, HealthCheckProgram: the reason in one line)",
        "check --list",
    )
    _host_file(check)
    check.add_argument(
        "--only", action="append", default=[], metavar="ID", help="this check, or all of a subject; again for more"
    )
    check.add_argument(
        "--since", type=Path, metavar="FILE", help="what --json printed earlier: counters are compared with it"
    )
    check.add_argument(
        "--capture", type=Path, metavar="DIR", help="look at a machine that `capture` recorded, not at this one"
    )
    _wait(check)
    check.add_argument("--all", action="store_true", help="print what is good, too")
    check.add_argument("--list", action="store_true", help="print all checks, and look at nothing")
    form = check.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="for machines")
    form.add_argument("--slurm", action="store_true", help="the first failures in one line, nothing else")
    form.add_argument("--nhc", action="store_true", help="the same as LBNL Node Health Check prints it")

    capture = verb(
        "capture",
        "record in a folder what check looks at on this server",
        "To be looked at elsewhere:\n`railweave host check --capture DIR`.",
        "capture H100-01.machine",
    )
    capture.add_argument("folder", type=Path, metavar="DIR", help="a new folder")
    _host_file(capture)
    capture.add_argument("--json", action="store_true", help="for machines")

    support = verb(
        "bundle",
        "write one archive for a support case: what check looks at, what it says, and the state of apply",
        "Words\nthat look like secrets are taken out; names and addresses of this network are not.",
        "bundle H100-01.tar.gz",
    )
    support.add_argument("file", type=Path, metavar="FILE", help="the archive, tar and gzip")
    _host_file(support)
    _state(support)
    support.add_argument("--json", action="store_true", help="for machines")

    env = verb(
        "env",
        "print the environment of a job, or run a command in it",
        "GID indexes are found by value, now.\nWhat is set already stays, unless --override or the value extends it.",
        "env > job.env     then: . ./job.env",
        "env -- ./all_reduce_perf -b 8 -e 8G -f 2 -g 1",
        "env --json",
        "env --tenant blue -- ./all_reduce_perf -b 8 -e 8G -f 2 -g 1     where GPUs belong to several tenants",
    )
    _host_file(env)
    env.add_argument("--tenant", metavar="NAME", help="the environment of this tenant's jobs: its NICs and GPUs alone")
    _sysfs(env)
    form = env.add_mutually_exclusive_group()
    form.add_argument("--shell", action="store_true", help="export lines (the default)")
    form.add_argument("--json", action="store_true", help="for machines")
    env.add_argument(
        "--tuner",
        action="store_true",
        help="NCCL chooses by the table of the plugin's tuner (RAILWEAVE_NET_TUNER=1); give it on all servers or none",
    )
    env.add_argument("--override", action="store_true", help="the plan's values win over those set already")

    verb(
        "rdma-ping",
        "write by RDMA over every path to another host: loss, round trip times, dead paths",
        "Runs\nrailweave-rdma-ping of the net plugin; all words are its own.",
        "rdma-ping --server        on the one",
        "rdma-ping H100-02         on the other",
        "rdma-ping --help",
    )

    plugin = verb(
        "plugin",
        "what the net plugin does on this server, and what would keep it from doing well",
        "stats: sums by direction,\nNIC, path color and leaf of the other end, from its running processes. doctor: speed, MTU, addresses, GPU memory,\n"
        "timeouts and variables against host.json; exit code 1: an error was found.",
        "plugin stats --interval 2",
        "plugin stats --prometheus > /var/lib/node_exporter/textfile/railweave.prom",
        "env -- railweave host plugin doctor",
    )
    plugin.add_argument("what", choices=("stats", "doctor"))
    _host_file(plugin)
    _sysfs(plugin)
    plugin.add_argument(
        "--interval", type=_seconds, default=1.0, metavar="SECONDS", help="rates over this time; 0: none"
    )
    shm = Path("/dev/shm")  # noqa: S108 - where the plugin's processes write; here it is only read
    plugin.add_argument("--shm", type=Path, default=shm, metavar="DIRECTORY", help=f"where their pages are ({shm})")
    form = plugin.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="for machines")
    form.add_argument("--prometheus", action="store_true", help="node_exporter's textfile format (stats)")

    metrics = verb(
        "metrics",
        "print counters of the planned NICs and of the net plugin for Prometheus",
        "In the form of\nnode_exporter's textfile collector. Counters of one meaning have one name, whatever the driver calls them.",
        "metrics --out /var/lib/prometheus/node-exporter/railweave.prom --interval 15     (a systemd service)",
        "metrics --json",
    )
    _host_file(metrics)
    _sysfs(metrics)
    metrics.add_argument("--out", type=Path, metavar="FILE", help="write them there, whole, in place of printing them")
    metrics.add_argument(
        "--interval",
        type=_seconds,
        default=0.0,
        metavar="SECONDS",
        help="with --out: write them again so often, until SIGTERM, and remove the file then",
    )
    metrics.add_argument(
        "--shm", type=Path, default=shm, metavar="DIRECTORY", help=f"where the plugin's pages are ({shm})"
    )
    metrics.add_argument("--json", action="store_true", help="for machines")

    zipapp = verb(
        "zipapp",
        "write this program as one file, for servers without railweave",
        "Needs Python 3.9 or newer\nand iproute2 there.",
        "zipapp railweave-host.pyz",
    )
    zipapp.add_argument("file", type=Path, metavar="FILE")
    zipapp.add_argument("--json", action="store_true", help="for machines")
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
    names_help: str = f"names of routing tables (default: where they are, else {files.RT_TABLES_FILE})",
) -> None:
    verb.add_argument(
        "--state-file", type=Path, default=STATE_FILE, metavar="FILE", help=f"the journal (default: {STATE_FILE})"
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
        help="wait so long for links and addresses; exit 1 if any is missing",
    )


def _sysfs(verb: ArgumentParser) -> None:
    verb.add_argument("--sysfs", type=Path, default=SYSFS, metavar="DIR", help="where sysfs is (default: /sys)")


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e7:
        raise ArgumentTypeError(f"{text!r} is not a number of seconds")
    return value
