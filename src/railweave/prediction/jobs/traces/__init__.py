"""Readers and writers of execution traces: the computation and communication of ranks in a real run or in another simulator.

- ``trace`` has the type ``Trace``, which every reader returns.
- ``chakra_read`` and ``chakra_write`` read and write the files of MLCommons Chakra.
- ``nccl_read`` reads logs of NCCL.
- ``traced`` matches communications between ranks, and groups ranks that do the same. Its result is the job and the
  operations for ``prediction.jobs.run``.
"""
