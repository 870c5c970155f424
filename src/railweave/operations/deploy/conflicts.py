"""Conflicts of plans on one network: a design change and maintenance on the same device, and revisions since a plan was made."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from railweave.live.check.living import some

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from railweave.model.network.model import Network
    from railweave.operations.deploy.journal import Journal, Revision
    from railweave.operations.deploy.plan import Plan


def purpose(plan: Plan) -> str:
    """Return the purpose of a plan as a noun phrase, for example ``a drain of spine2``."""
    if plan.drain is not None:
        return f"{'an undrain' if plan.drain.back else 'a drain'} of {some(plan.drain.names)}"
    if plan.upgrade is not None:
        return f"an upgrade to {plan.upgrade.image.release}"
    if plan.replacement is not None:
        return f"a replacement of {plan.replacement.what}"
    if plan.trial:
        return f"a trial ({plan.trial})"
    return "a change of the design" if plan.back_to is None else f"a return to before revision {plan.back_to}"


def described(rows: Journal, revision: Revision) -> str:
    """Return a revision with its purpose, its operator and the time at which it began (UTC)."""
    began = datetime.fromtimestamp(revision.began, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"revision {revision.number}, {purpose(rows.plan(revision.number))}, by {revision.who.partition(' ')[0]}, {began}"


def since(rows: Journal, plan: Plan) -> str:
    """Return a clause that names the revisions that changed devices after a plan was made; empty if there are none."""
    made = datetime.fromisoformat(plan.made).timestamp()
    later = [revision for revision in reversed(rows.revisions()) if revision.began >= made]
    clauses = [
        described(rows, revision) + (f", also on {some(both)}" if (both := _both(rows, revision, plan.changed)) else "")
        for revision in later
    ]
    return f"; since then: {'; '.join(clauses)}" if clauses else ""


def with_maintenance(rows: Journal, network: Network, changed: Collection[str]) -> Iterator[str]:
    """Yield a line for each device of ``changed`` that is drained or has a drained link. The line names the revision that drained it."""
    for device in changed:
        parts = [device] if device in network.drained else []
        if device in {switch.name for switch in network.switches} and not parts:
            parts = [
                cable.name
                for cable in network.cables_of(device)
                if cable.name in network.drained and not {cable.a.device, cable.b.device} & network.drained
            ]
        if parts:
            by = next((described(rows, each) for each in rows.revisions() if _drains(rows, each, parts)), "")
            yield (
                f"{device}: {some(parts)} {'is' if len(parts) == 1 else 'are'} drained"
                f"{f' ({by})' if by else ' (`status:` of the fabric file)'}. This plan leaves the drain in force; "
                "if someone works there, apply it after `deploy undrain`"
            )


def _drains(rows: Journal, revision: Revision, parts: Collection[str]) -> bool:
    """Return True if a revision drained any of these parts (names of devices or links)."""
    drain = rows.plan(revision.number).drain
    return drain is not None and not drain.back and not set(drain.names).isdisjoint(parts)


def with_later(
    rows: Journal, number: int, names: Collection[str], drained: Collection[str]
) -> tuple[list[str], list[str]]:
    """Return (reasons to refuse a rollback, notes on other conflicts) for a rollback to the state before revision ``number``.

    Only later revisions on the devices ``names`` matter. A later drain that is still in force (see ``drained``) is a reason to
    refuse. Any other later change is a note, because the rollback undoes it too.
    """
    refused: list[str] = []
    conflicts: list[str] = []
    for revision in reversed(rows.revisions()):
        both = _both(rows, revision, names) if revision.number > number and revision.state == "done" else []
        if not both:
            continue
        drain = rows.plan(revision.number).drain
        open_parts = [name for name in drain.names if name in drained] if drain is not None and not drain.back else []
        if open_parts:
            refused.append(
                f"{described(rows, revision)}, is still in force, and going back would end it on {some(both)} while the "
                f"fabric file says that {some(open_parts)} is drained: `deploy undrain` first, or leave these devices out (--only)"
            )
        else:
            conflicts.append(f"{described(rows, revision)}, changed {some(both)} later: this plan takes that back too")
    return refused, conflicts


def _both(rows: Journal, revision: Revision, names: Collection[str]) -> list[str]:
    """Return the devices that the plan of a revision changes and that are also in ``names``."""
    return [name for name in rows.plan(revision.number).changed if name in names]
