"""Work on a network over its life.

Takes: a design, a ``Site``, runs of benchmarks, study files.
Gives: changes on devices with a way back (``deploy``), samples, anomalies and the console (``watch``), plans and results of benchmarks
(``bench``), better values for the fabric file (``tune``), files for other tools (``exports``), the store of runs (``store``).

Imports: ``model``, ``pages``, ``systems``, ``design``, ``analysis``, ``prediction``, ``outputs``, ``live``.
"""
