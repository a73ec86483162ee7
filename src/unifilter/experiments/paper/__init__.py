"""One module per table or figure of the paper, and a few beyond the paper."""
