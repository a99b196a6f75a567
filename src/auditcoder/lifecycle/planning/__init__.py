"""Planning: from a task to responsibilities with ids and contracts, before any code exists."""
