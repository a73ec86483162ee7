"""The few passes over n-sized data that decide how fast the library is: fused for the CPU, plain torch elsewhere."""
