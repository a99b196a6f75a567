"""Where records live: SQLite, PostgreSQL, or a single bundle file."""
