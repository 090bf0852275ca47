"""Code that runs in its own process, mostly with libraries such as PyTorch.

See benchmarks.peer_process.
"""
