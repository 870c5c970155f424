"""The environment variables of a job on this server: values from ``host.json``, and GID indexes, looked up when the job starts."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from .gids import V2, Gid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .host_file import HostFile, Nic, PathAddress

_REFERENCE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))(:?)")
"""A reference ``$NAME`` or ``${NAME}`` to a variable, with the colon that follows it.

If the variable is empty, the colon is removed too, because an empty member of a list of folders means the current folder.
"""

_ADVICE = {
    "NCCL_IB_GID_INDEX": "NCCL 2.21 and newer find GIDs themselves: set NCCL_IB_ADDR_FAMILY, NCCL_IB_ADDR_RANGE and"
    " NCCL_IB_ROCE_VERSION_NUM in hosts.job.environment",
    "UCX_IB_GID_INDEX": "UCX then chooses a RoCE v2 GID itself; where it takes a wrong one, give all devices the same index:"
    " let addresses come in the same order (railweave host gids shows it)",
}


def resolve(plan: HostFile, gids: Iterable[Gid]) -> tuple[dict[str, str], list[str]]:
    """Return (value by variable, warnings) for the variables in ``job.resolve``. Each variable without a value has a warning.

    A variable ``*_GID_INDEX`` has one index for all devices: the index of the RoCE v2 GID of each NIC's first path.
    Only NICs next to a GPU are considered. If their indexes differ, the variable has no value.
    """
    variables: dict[str, str] = {}
    warnings: list[str] = []
    index, why = _common_index(plan, list(gids))
    for name in plan.resolve:
        if not name.endswith("_GID_INDEX"):
            warnings.append(f"{name} is left out: this railweave host does not know how to find its value")
        elif index is None:
            advice = _ADVICE.get(name, "give all devices the same index")
            warnings.append(f"{name} is left out: {why}. {advice}")
        else:
            variables[name] = str(index)
    return variables, warnings


def _common_index(plan: HostFile, gids: list[Gid]) -> tuple[int | None, str]:
    indexes: dict[str, int] = {}
    for nic in plan.gpu_nics:
        first = _first_path(plan, nic)
        at = [gid.index for gid in gids if (gid.device, gid.port) == (nic.rdma, nic.rdma_port) and gid.type == V2]
        mine = [i for i in at if any(g.index == i and g.device == nic.rdma and g.path == first for g in gids)]
        if first is None or not mine:
            prefix = first.prefix if first else "a fabric's prefix"
            return None, f"{nic.rdma} has no RoCE v2 GID in {prefix}"
        indexes[nic.rdma] = min(mine)
    if len(set(indexes.values())) > 1:
        return None, "it is not the same on all devices: " + ", ".join(f"{dev} {i}" for dev, i in indexes.items())
    return next(iter(indexes.values()), None), "host.json has no NIC"


def _first_path(plan: HostFile, nic: Nic) -> PathAddress | None:
    """Return the first path of a NIC, or None if the NIC has no path.

    If the plan sets the job's address family (``NCCL_IB_ADDR_FAMILY``), return the first path of that family if the NIC has one.
    """
    version = {"AF_INET": 4, "AF_INET6": 6}.get(plan.environment.get("NCCL_IB_ADDR_FAMILY", ""))
    alike = (path for path in nic.paths if path.prefix.version == version)
    return next(alike, nic.paths[0] if nic.paths else None)


def chosen(planned: Mapping[str, str], present: Mapping[str, str], *, override: bool) -> dict[str, str]:
    """Return the planned variables that are to be set. A variable that the user has set keeps the user's value.

    The user's value is replaced if ``override`` is True, or if the planned value refers to it (``$NAME``). ``present`` is the
    user's environment.
    """
    return {
        name: value for name, value in planned.items() if override or name not in present or name in _references(value)
    }


def expanded(variables: Mapping[str, str], present: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with references replaced by values from the environment ``present``.

    No shell is used, so no other characters have a special meaning.
    """

    def value(match: re.Match[str]) -> str:
        now = present.get(match[1] or match[2], "")
        return now + match[3] if now else ""

    return {name: _REFERENCE.sub(value, text) for name, text in variables.items()}


def exports(variables: Mapping[str, str]) -> str:
    """Return the variables as ``export`` lines for a POSIX shell. References are kept for the shell to expand."""
    return "".join(f"export {name}={_quoted(text)}\n" for name, text in variables.items())


def _references(text: str) -> set[str]:
    return {match[1] or match[2] for match in _REFERENCE.finditer(text)}


def _quoted(text: str) -> str:
    parts: list[str] = []
    at = 0
    for match in _REFERENCE.finditer(text):
        name = match[1] or match[2]
        parts += [_literal(text[at : match.start()]), f'"${{{name}:+${{{name}}}{match[3]}}}"']
        at = match.end()
    return "".join([*parts, _literal(text[at:])]) or "''"


def _literal(text: str) -> str:
    return shlex.quote(text) if text else ""
