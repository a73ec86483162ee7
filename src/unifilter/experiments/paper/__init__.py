"""One file per table or figure of the paper, and a few beyond it."""
