"""What was chosen for a fabric, and why: a module per subject."""
