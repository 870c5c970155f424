"""Training jobs: the computation and communication of a step, calculated by formulas, and the time at which each part of the step can run.

- ``plan`` has the job with its ranks and their groups.
- ``kernels`` has the model and the computing times of GPUs.
- ``graph`` has the parts of a step.
- ``build`` makes the graph of a step, with its communications and the order of micro-batches.
- ``run`` computes the time of the step.

No module here knows about networks: ``run.Network`` reports how long a communication takes, and how several
communications share links.
"""
