"""Reference arms: what no memory, full context, plain word search and the evidence itself come to under a release."""
