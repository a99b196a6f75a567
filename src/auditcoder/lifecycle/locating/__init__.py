"""Locating: from evidence to the responsibilities that it supports, or to none."""
