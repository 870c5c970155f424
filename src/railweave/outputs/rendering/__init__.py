"""The files of every switch and server: what is common to systems' renderers, and servers' files (``host``)."""
