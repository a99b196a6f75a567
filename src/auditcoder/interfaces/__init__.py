"""The Python interface and the command line: the only code that constructs adapters."""
