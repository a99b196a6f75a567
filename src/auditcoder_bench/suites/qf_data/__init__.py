"""QF-Small6: what is ours beside the upstream tasks, clarifications and contract checks."""
