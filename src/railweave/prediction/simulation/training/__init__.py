"""Training jobs on a designed network: the times of their communications and steps.

- ``loads`` turns process groups into jobs, runs all groups of a communication with the flow engine, and keeps the load of each link.
- ``packets`` also runs communications with the packet engine.
- ``storage`` has storage traffic, and the pace of communications that run at the same time.
- ``question`` reads a job file and runs its jobs together, with background traffic.
- ``answer`` has the result with its likely range, and ``tiers`` the bytes that cross each tier of switches.
- ``variants`` compares jobs with one setting changed, and over seeds.
"""
