"""Peers that bring their own libraries, such as PyTorch. Only benchmarks.peer_process imports these modules."""
