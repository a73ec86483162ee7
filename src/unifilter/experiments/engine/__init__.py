"""Plans experiments, runs missing cells in parallel, and stores every result."""
