"""Training jobs on a designed network: how long their communications take there, and with that their steps.

``groups`` makes a collective of a process group a program, ``loads`` runs all groups of a communication by flows and keeps what each link carries,
``sharing`` says how fast communications go that go on at the same time, ``together`` runs several jobs, ``background`` has the traffic of others,
``packets`` runs communications by packets too. ``question`` reads a job file and answers it, ``answer`` has the result with its ``band`` and its
bytes by ``tiers``. ``choices`` and ``uplinks`` are what jobs can be compared by, ``variants`` compares them, ``seeds`` asks chance.
"""
