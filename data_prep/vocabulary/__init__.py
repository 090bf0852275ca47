"""Words of a corpus, counted, and the WordPiece vocabularies learned from them."""
