"""FRR in a lab: its root folder, its daemons, and the connections to them."""
