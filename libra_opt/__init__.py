"""`libra_opt`."""
