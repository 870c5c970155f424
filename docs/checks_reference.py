"""docs/checks.md: every check of a server, with why, by what command, and on whose word."""

from __future__ import annotations

from railweave.host.checks.server import chosen

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


def checks_tables() -> str:
    """A table for each subject."""
    lines: list[str] = []
    checks = chosen(())
    for subject, title in SUBJECTS.items():
        lines += [
            f"## {title}: `{subject}`",
            "",
            "| check | what holds | otherwise | how it is seen | source |",
            "|---|---|---|---|---|",
        ]
        for one in checks:
            if one.subject == subject:
                root = " (root)" if one.root else ""
                cells = (f"`{one.id}`{root}", one.what, one.why, f"`{one.how}`", one.source)
                lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"
