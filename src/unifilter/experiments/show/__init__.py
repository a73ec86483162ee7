"""Presentation of results beside the paper's: tables, plots, reports."""
