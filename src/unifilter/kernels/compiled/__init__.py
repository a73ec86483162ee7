"""Kernels for the CPU, compiled by numba; imported only where :mod:`unifilter.kernels.backend` chooses them."""
