"""Training jobs: the computing and sending of a step, by formula, and when each part of the step can run.

- ``plan`` has the job with its ranks and their groups.
- ``kernels`` has the model and the time that GPUs compute.
- ``graph`` has the parts of a step.
- ``build`` makes the graph of a step, with its communications and the order of micro-batches.
- ``run`` computes the time of the step.

No module here knows about networks: ``run.Network`` answers how long a communication takes, and how several share
links.
"""
