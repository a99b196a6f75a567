"""Sandboxes: where generated code runs."""
