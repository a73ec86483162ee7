"""The version. The build reads it from here as well."""

__version__ = "0.1.0"
