"""FRR in a lab: its root folder, its daemons and how they are talked to."""
