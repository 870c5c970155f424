"""Bring a design onto running devices, and back: plan, waves, journal. Nothing in this folder is specific to an operating system."""
