"""Model adapters: embedded, provider, manual, replay and scripted."""
