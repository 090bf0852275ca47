"""Analysis of a model: attention pages, head behavior over a corpus, head importance, and probes
of layers."""
