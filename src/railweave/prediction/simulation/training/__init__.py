"""Training jobs on a designed network: how long their communications take there, and with that their steps.

``loads`` makes process groups jobs, runs all groups of a communication by flows and keeps what each link carries. ``packets`` runs communications by
packets too. ``storage`` has storage traffic, and how fast communications go that go on at the same time. ``question`` reads a job file and runs its
jobs together, with traffic of others. ``answer`` has the result with its band, ``tiers`` its bytes by tier. ``variants`` compares jobs with one thing
changed, and over seeds.
"""
