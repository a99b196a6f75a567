"""The `bench` and `faults` commands, found through entry points."""

SUMMARIES = {
    "bench": "compare methods on benchmark suites",
    "faults": "build failures with known causes, and evaluate locators on them",
}
"""What the help of the root command says about each."""
