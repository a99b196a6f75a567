"""Mutants of modules, each with one condition removed, and the tests that are run on them."""
