"""Metrics of one or many traces, as pure functions."""
