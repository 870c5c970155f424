"""A plan carried out: perftest between servers over SSH, collectives by ``mpirun`` or ``srun``, each result into the store as it comes."""
