"""From a number of GPUs to a fabric file: every shape counted before there is a design, and what growth costs."""
