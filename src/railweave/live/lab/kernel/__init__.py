"""The kernel's part of a lab: namespaces, interfaces, processes, what they hold and count."""
