"""Files of this machine, as they are read."""

from __future__ import annotations

from railweave.host.machine import ThisMachine


def test_kernel_parameters_can_be_read() -> None:
    """The kernel refuses reads of 4 MiB and more below /proc/sys, however short the value is."""
    assert ThisMachine().number("/proc/sys/kernel/pid_max")
