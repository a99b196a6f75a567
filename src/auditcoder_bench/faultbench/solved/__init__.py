"""Programs of several responsibilities, solved: what faults are put into."""
