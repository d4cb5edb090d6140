"""The demo: the whole road from access request to published board, on this machine alone."""
