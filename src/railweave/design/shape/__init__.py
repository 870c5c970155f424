"""Placement: stripes, tiers, spines, sites, and the equipment of each switch."""
