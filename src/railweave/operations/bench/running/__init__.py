"""Execution of a plan: perftest between servers over SSH, collectives with ``mpirun`` or ``srun``. Each result is stored as it arrives."""
