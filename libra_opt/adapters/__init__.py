"""Doors to the world outside: files, recorded traces, generated states, other solvers' formats. No adapter knows another."""
