"""Projections of a trace into other people's formats. Pure."""
