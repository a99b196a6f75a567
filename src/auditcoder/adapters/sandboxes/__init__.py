"""Sandboxes, in which generated code runs."""
