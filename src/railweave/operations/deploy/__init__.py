"""Deployment of a design to running devices, with rollback, by plans, waves and a journal. This folder has no code for specific systems."""
