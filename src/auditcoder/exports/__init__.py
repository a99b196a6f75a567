"""Exports of traces and tables to other formats, as pure functions."""
