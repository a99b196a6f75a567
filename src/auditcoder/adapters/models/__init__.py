"""Models: where a request goes to be answered."""
