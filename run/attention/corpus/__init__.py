"""What attention heads do over a corpus and a treebank: one pass, sums that are kept, tables and pictures of them."""
