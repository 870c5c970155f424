"""Life of a network after its first day, tried in labs: ``python -m tests.live.lab.day_two [PART ...]``, root.

Each module of this package but ``__main__`` is a part: its ``tried()`` gives the rows of its table in docs/day-two.md, with the head, and what was
wrong. ``NAME`` is between the marks of the table.
"""
