"""Baselines: what other schedulers would decide, held to the same rules as ours."""
