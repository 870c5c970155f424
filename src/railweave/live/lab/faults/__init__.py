"""What breaks in a lab, and what is measured meanwhile."""
