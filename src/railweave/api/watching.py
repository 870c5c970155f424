"""Monitoring of running networks: ``watch`` with its web console (docs/watch.md)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.options import verb
from railweave.api.site_verbs import Watch
from railweave.api.sites import asking_of
from railweave.errors import InputError, Option, Problem
from railweave.outputs.folder.sources import fields_of, path_of

if TYPE_CHECKING:
    from railweave.operations.watch.otlp.settings import OtlpSettings


@verb(Watch)
def watch(options: Watch) -> None:
    """Sample the state of every switch until SIGINT or SIGTERM, and serve it as web pages, metrics and JSON. Changes no device.

    - ``ready``: a function that is called with the watched network before the first sample. It may append functions to the
      network's list ``heard``; each of them is called with the anomalies that change.
    - ``progress``: a function that is called with a short description of the current activity.

    Raises ``InputError`` for wrong input, ``OutputError`` if the store cannot be written, and the errors of ``load`` and ``collect``.
    """
    from railweave.operations.watch import starting

    fabric = Path(options.fabric)
    at = starting.serving_of(options.listen, options.password, options.proxy, options.runs, options.write_token)
    webhook, alertmanager = starting.urls_of({"--webhook": options.webhook, "--alertmanager": options.alertmanager})
    receives = None if options.syslog is None else starting.address_of("--syslog", options.syslog)
    store = path_of(options.store)
    otlp = _otlp(options)
    inspector = None if options.inspector is None else starting.folder_of("--inspector", str(options.inspector))
    wanted = starting.WatchSettings(
        options.interval, store, webhook, alertmanager, receives, otlp, inspector, _store_bytes(options)
    )
    line = fields_of(fabric)
    site = asking_of(
        fabric,
        lab=options.lab,
        access=options.access,
        only=options.only,
        servers=options.servers,
        device=options.device,
        hardware=options.hardware,
        progress=options.progress,
    )
    here = fabric if options.lab or fabric.is_file() else None
    watching = starting.watching_of(site, wanted, fabric=here, line=line, say=options.progress)
    options.ready(watching)
    starting.serve(watching, at)


def _store_bytes(options: Watch) -> int | None:
    """Return the largest size of the store in bytes; None without ``store_limit``. Raises ``InputError`` for a limit without a store."""
    if options.store_limit is None:
        return None
    if options.store is None:
        given = str(options.store_limit)
        raise InputError([Problem(Option("--store-limit", given), "there is no store to limit", "give --store FILE")])
    return options.store_limit << 20


def _otlp(options: Watch) -> OtlpSettings | None:
    """Return the receivers of OpenTelemetry; None without ``otlp``."""
    from railweave.operations.watch.otlp.settings import otlp_of

    if options.otlp is not None:
        return otlp_of(options.otlp, path_of(options.otlp_ca), os.environ)
    if options.otlp_ca is not None:
        fault, fix = "nothing is sent without --otlp", "give --otlp URL, or leave out --otlp-ca"
        raise InputError([Problem(Option("--otlp-ca", str(options.otlp_ca)), fault, fix)])
    return None
