"""How people and programs reach all this: the only place that constructs adapters."""
