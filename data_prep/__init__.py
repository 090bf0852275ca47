"""Raw text in, TFRecords out: pre-training data, vocabularies and fine-tuning data sets."""
