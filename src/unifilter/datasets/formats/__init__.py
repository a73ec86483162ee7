"""File readers, one module per format. Each checks its input and never runs code from a file."""
