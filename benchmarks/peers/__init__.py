"""Code that runs in its own process, mostly with libraries such as PyTorch; see benchmarks.peer_process."""
