"""Readers of files, one module a format. Each checks what it reads and runs no code from a file."""
