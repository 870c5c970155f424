"""The release branches of SONiC. Rows of ``statements`` say the first branch that has them (``since``).

Read from ``src/sonic-yang-models`` of sonic-net/sonic-buildimage on every branch named here (heads of June to August 2026), and, where the daemon that
reads a table came later than its model, from the daemon:

- ``BANNER_MESSAGE``: the model is on 202405, ``hostcfgd`` of sonic-net/sonic-host-services reads it from 202411 on;
- ``FLEX_COUNTER_TABLE|WRED_ECN_QUEUE``: the model is on 202411, orchagent and `counterpoll` have it from 202505 on;
- ``SAG`` and ``static_anycast_gateway``: models, ``intfmgrd`` and orchagent have them on master alone.
"""

from __future__ import annotations

MASTER = "master"
NUMBERED = ("202405", "202411", "202505", "202511", "202605")
OLDEST, NEWEST = NUMBERED[0], NUMBERED[-1]
FRR = {
    "202405": "8.5.4",
    "202411": "10.0.1",
    "202505": "10.3",
    "202511": "10.4.1",
    "202605": "10.5.4",
}
"""The FRRouting of each branch (``rules/frr.mk``)."""

_BRANCH_DIGITS = 6


def known(release: str) -> bool:
    """Return whether a release is of a branch that has been read."""
    return release[:_BRANCH_DIGITS] in NUMBERED


def branch(release: str) -> str:
    """Return the branch that a release is rendered for: its own; of an unknown one the branch before it, and master if it is newer than all."""
    number = release[:_BRANCH_DIGITS]
    if len(number) != _BRANCH_DIGITS or not number.isdecimal():
        return OLDEST
    if number > NEWEST:
        return MASTER
    return max((name for name in NUMBERED if name <= number), default=OLDEST)


def newer(first: str, than: str) -> bool:
    """Return whether a branch is newer than another."""
    return than != MASTER and (first == MASTER or first > than)
