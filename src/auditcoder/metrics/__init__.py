"""Numbers about traces. Pure."""
