"""Model adapters that only experiments need."""
