"""The vocabulary: frozen values and pure functions. No I/O, no clock, no environment."""
