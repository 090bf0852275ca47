"""Analysis of a model: attention, head behavior over a corpus, head importance, layer probes."""
