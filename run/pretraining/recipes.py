"""Published pre-training recipes as sets of flags. Does not import TensorFlow."""

from data_prep.pretraining.recipes import RECIPES as DATA_RECIPES

# Flags of run_pretraining. RoBERTa: training for 125,000 steps (section 4), with BERT's dropout.
RECIPES = {
    "original": {**DATA_RECIPES["original"], "train_batch_size": 256, "learning_rate": 1e-4,
                 "num_train_steps": 1_000_000, "num_warmup_steps": 10_000},
    "roberta": {**DATA_RECIPES["roberta"], "train_batch_size": 2048, "learning_rate": 5e-4, "num_train_steps": 125_000,
                "num_warmup_steps": 10_000, "beta_2": 0.98, "clip_norm": 0.0},
}
