"""The `bench` and `faults` commands, found through entry points."""

SUMMARIES = {
    "bench": "compare methods on benchmark suites",
    "faults": "build failures with known causes, and evaluate locators on them",
}
"""The line about each command in the help of `auditcoder`."""
