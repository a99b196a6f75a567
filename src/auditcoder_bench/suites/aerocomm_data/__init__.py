"""AeroComm-Small8: eight small engineering functions, each grounded in public sources."""
