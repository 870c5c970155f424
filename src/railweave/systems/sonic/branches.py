"""The release branches of SONiC. In the statement tables, ``since`` is the first branch that supports a statement.

The source is ``src/sonic-yang-models`` of sonic-net/sonic-buildimage on every branch listed here (branch heads of June
to August 2026). If the daemon that reads a table appeared later than its model, the source is the daemon:

- ``BANNER_MESSAGE``: the model is on 202405, ``hostcfgd`` of sonic-net/sonic-host-services reads it from 202411 on;
- ``FLEX_COUNTER_TABLE|WRED_ECN_QUEUE``: the model is on 202411, orchagent and `counterpoll` have it from 202505 on;
- ``SAG`` and ``static_anycast_gateway``: models, ``intfmgrd`` and orchagent have them only on master.
"""

from __future__ import annotations

MASTER = "master"
NUMBERED = ("202405", "202411", "202505", "202511", "202605")
OLDEST, NEWEST = NUMBERED[0], NUMBERED[-1]
FRR = {"202405": "8.5.4", "202411": "10.0.1", "202505": "10.3", "202511": "10.4.1", "202605": "10.5.4"}
"""The FRRouting release of each branch (``rules/frr.mk``)."""

_BRANCH_DIGITS = 6


def known(release: str) -> bool:
    """Return True if a release, such as ``202411.0``, belongs to a branch in this module."""
    return release[:_BRANCH_DIGITS] in NUMBERED


def branch(release: str) -> str:
    """Return the branch whose statements are rendered for a release.

    If this module does not list the release's own branch, the result is the newest branch before the release, or ``master``
    if the release is newer than all branches.
    """
    number = release[:_BRANCH_DIGITS]
    if len(number) != _BRANCH_DIGITS or not number.isdecimal():
        return OLDEST
    if number > NEWEST:
        return MASTER
    return max((name for name in NUMBERED if name <= number), default=OLDEST)


def newer(first: str, than: str) -> bool:
    """Return True if the branch ``first`` is newer than the branch ``than``."""
    return than != MASTER and (first == MASTER or first > than)
