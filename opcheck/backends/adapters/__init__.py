"""One file a kind of backend, named like it; the third-party import stands inside `connect`."""
