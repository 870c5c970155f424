"""Exports of a design to NetBox: by its REST API, or as files for its import pages."""
