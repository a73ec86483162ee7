"""Plans experiments, runs what is missing in parallel, and stores every result."""
