"""What is measured: dataset files read into scopes, chunked into messages, and registered as bundles."""
