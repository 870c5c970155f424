"""The kernel's part of a lab: namespaces, interfaces and processes, with their state and counters."""
