"""Pages that need nothing but a browser: no server, no network, no script from elsewhere."""
