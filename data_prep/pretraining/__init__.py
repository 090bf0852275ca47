"""A corpus to records of pre-training: documents, sentence pairs, masks, shards; on one machine or a cluster."""
