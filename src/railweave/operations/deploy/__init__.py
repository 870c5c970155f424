"""Deployment of a design to running devices, with rollback: plan, waves, journal. This folder has no code for specific systems."""
