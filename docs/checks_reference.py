"""docs/checks.md: every check of a server, and why; docs/checks.csv: also by what command, and on whose word."""

from __future__ import annotations

from railweave.host.checks.server import chosen
from railweave.pages.table import Table, columns, csv_text

SUBJECTS = {
    "nics": "NICs",
    "modules": "Kernel modules",
    "link": "Links",
    "pcie": "PCI Express",
    "rdma": "RDMA devices",
    "network": "Addresses, routes, firewall",
    "second_files": "Files beside ours",
    "qos": "QoS",
    "gpus": "GPUs",
    "system": "System",
    "job": "What a job finds",
    "log": "The kernel's log",
    "counters": "Counters",
}


TEXT = """[checks.csv](checks.csv) has the same checks with two more columns: the command or file by which a check sees its value, and the document that the
requirement is from. *root*: the check needs root.

"""


def checks_tables() -> str:
    """A table for each subject."""
    lines: list[str] = []
    checks = chosen(())
    for subject, title in SUBJECTS.items():
        rows = [
            (f"`{check.id}`{' (root)' if check.root else ''}", check.what, check.why)
            for check in checks
            if check.subject == subject
        ]
        table = Table(columns("check", "what holds", "otherwise"), rows)
        lines += [f"## {title}: `{subject}`", "", *table.to_markdown(), ""]
    return TEXT + "\n".join(lines).rstrip("\n") + "\n"


def checks_table() -> str:
    """Return every check with all that is known of it, as CSV."""
    heads = columns("subject", "id", "root", "what_holds", "otherwise", "seen_by", "source")
    checks = chosen(())
    return csv_text(
        heads,
        [
            (subject, check.id, "yes" if check.root else "no", check.what, check.why, check.how, check.source)
            for subject in SUBJECTS
            for check in checks
            if check.subject == subject
        ],
    )
