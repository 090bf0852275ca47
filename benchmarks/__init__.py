"""Benchmarks: this project measured beside its peers, in one process and turn by turn; each is run on its own."""
