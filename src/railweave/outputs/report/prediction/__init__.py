"""HTML pages that show predictions: of one job or collective, of a training step, and of variants compared."""
