"""Domain model: immutable values and pure functions, without I/O, clock or environment."""
