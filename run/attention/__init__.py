"""Looking inside a model: attention as a page of pictures, what heads do over a corpus, which of them matter."""
