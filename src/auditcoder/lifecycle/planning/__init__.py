"""Planners: they turn a task into nodes with ids and contracts before code is written."""
