"""Second implementations of the same functions, written from their contracts alone."""
