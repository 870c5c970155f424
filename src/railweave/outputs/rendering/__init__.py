"""The files of every switch and server: what the renderers of all systems share, and the files of servers (``host``)."""
