"""Models of one task beside each other: sizes, scores and latencies of what they are exported as."""
