"""Training jobs: the computation and communication of a step, calculated by formulas, and the times at which its operations can run.

- ``plan`` has the job with its ranks and their groups.
- ``kernels`` has the model and the computing times of GPUs.
- ``graph`` has the operations of a step.
- ``build`` makes the graph of a step, with its communications and the order of micro-batches.
- ``run`` computes the time of the step.

These modules do not depend on a network. They call an object with the methods of ``run.Network``, which returns the duration of a
communication, and the paces of several communications that share links.
"""
