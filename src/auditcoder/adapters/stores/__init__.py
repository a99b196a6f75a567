"""Stores of records: SQLite, PostgreSQL, and single bundle files."""
