"""The edges: the only place that does input and output."""
