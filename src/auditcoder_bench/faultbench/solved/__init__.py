"""Solved programs with several nodes, into which faults are injected."""
