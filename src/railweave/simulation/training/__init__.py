"""Training jobs on a designed network: how long their communications take there, and with that their steps.

``groups`` makes a collective of a process group a program, ``loads`` runs all groups of a communication by flows and keeps what each link carries,
``sharing`` says how fast communications go that go on at the same time, ``question`` reads a job file and answers it, ``answer`` has the result.
"""
