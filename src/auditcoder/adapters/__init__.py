"""Implementations of the ports: models, sandboxes, stores and files."""
