"""QF-Small6: the clarifications and contract checks that this project adds to the tasks."""
