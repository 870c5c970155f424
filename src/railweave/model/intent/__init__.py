"""The files that a user writes (fabric file, inventory and lock): their models, units and line-numbered errors."""
