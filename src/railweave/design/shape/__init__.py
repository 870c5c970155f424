"""Who is where: stripes, tiers, spines, sites, and what each switch is."""
