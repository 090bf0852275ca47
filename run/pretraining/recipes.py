"""Published pre-training recipes as sets of flags. Does not import TensorFlow."""

from data_prep.pretraining.recipes import RECIPES as DATA_RECIPES

_ORIGINAL = {**DATA_RECIPES["original"], "train_batch_size": 256, "learning_rate": 1e-4, "num_train_steps": 1_000_000,
             "num_warmup_steps": 10_000}

# Flags of run_pretraining. BERT: appendix A.2. RoBERTa: 125,000 steps at the learning rate of table 3, with the warm-up
# of fairseq's README, and with BERT's dropout.
RECIPES = {
    "original": {**_ORIGINAL, "phases": "128:0.9,512:0.1"},
    "original_128": _ORIGINAL,
    "roberta": {**DATA_RECIPES["roberta"], "train_batch_size": 2048, "learning_rate": 7e-4, "num_train_steps": 125_000,
                "num_warmup_steps": 10_000, "beta_2": 0.98, "clip_norm": 0.0},
}
