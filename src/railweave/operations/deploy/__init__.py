"""Bringing a design onto running devices, and back: plan, waves, journal. Nothing here knows an operating system."""
