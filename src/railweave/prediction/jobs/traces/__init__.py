"""What ranks of a real run, or of another simulator, compute and send: execution traces in and out.

``trace`` has the value that every reader gives. ``chakra_read`` and ``chakra_write`` have the files of MLCommons Chakra, ``nccl_read`` logs of NCCL.
``traced`` matches communications of several ranks, takes ranks that do the same together, and gives the job and the operations that
``prediction.jobs.run`` takes.
"""
