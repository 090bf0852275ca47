"""Token classification by frozen features (section 5.3 of the paper): a BiLSTM on vectors of an encoder."""
