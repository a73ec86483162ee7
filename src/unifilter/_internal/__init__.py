"""Helpers used throughout the package: checks of arguments, files, figures. Private."""
