"""Where many jobs are done: on this machine, or on many."""
