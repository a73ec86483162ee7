"""Helpers that every stage uses: checks of arguments, files, figures. Nothing here is public."""
