"""Simulated runs in grids: which cells there are, who runs them, what is kept of them and how it is told."""
