"""The files of every switch and server: the part common to the renderers of all systems, and the files of servers (``host``)."""
