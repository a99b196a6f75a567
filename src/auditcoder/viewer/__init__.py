"""Self-contained HTML pages, which need no server, no network and no scripts."""
