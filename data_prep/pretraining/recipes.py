"""Published recipes for records, as flag values.

They come from BERT (arXiv:1810.04805) and RoBERTa (arXiv:1907.11692).
"""

_ORIGINAL = {"objective": "sentence_pairs", "masking": "static"}

# Flags of create_pretraining_data that run_pretraining also requires.
RECIPES = {
    "original": _ORIGINAL,  # For records of either length.
    "original_128": _ORIGINAL,
    "roberta": {
        "objective": "full_sentences",
        "masking": "dynamic",
        "max_seq_length": 512,
        "max_predictions_per_seq": 77,
    },
}
