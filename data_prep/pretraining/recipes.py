"""Published ways to make records, as the flags that they are: BERT's (arXiv:1810.04805) and RoBERTa's (1907.11692)."""

# The flags of create_pretraining_data, which run_pretraining needs too.
RECIPES = {
    "original": {"objective": "sentence_pairs", "masking": "static"},
    "roberta": {"objective": "full_sentences", "masking": "dynamic", "max_seq_length": 512,
                "max_predictions_per_seq": 77},
}
