"""Suites, judges and the runner; hidden tests live here and nowhere else."""
