"""Looking inside a model: attention as a page, what heads do over a corpus, which of them matter, probes of layers."""
