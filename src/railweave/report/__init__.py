"""Report: HTML page and topology picture."""
