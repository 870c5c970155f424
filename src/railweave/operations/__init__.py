"""Operations on a network during its life: deployment, monitoring, benchmarks and tuning.

Inputs: a design, a ``Site``, benchmark runs and study files.

Outputs:
- ``deploy``: changes on devices, with rollback.
- ``watch``: samples, anomalies and the console.
- ``bench``: plans and results of benchmarks.
- ``tune``: better values for the fabric file.
- ``exports``: files for other tools.
- ``store``: the store of runs.

Imports: ``model``, ``pages``, ``systems``, ``design``, ``analysis``, ``prediction``, ``outputs``, ``live``.
"""
