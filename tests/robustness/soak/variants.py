"""The jobs that are disturbed, and their inputs."""

import random

from tests import scripts
from tests.robustness import world
from tests.robustness.commands import COMMANDS

# With loops of one step, each step has a row in the logs, and SIGTERM stops the run after each
# step.
LOOPS = {"iterations_per_loop": 1}
TRAINED = {
    **LOOPS,
    "num_train_steps": 40,
    "num_warmup_steps": 4,
    "save_checkpoints_steps": 5,
    "learning_rate": 1e-3,
}
TUNED = {
    **LOOPS,
    "do_eval": True,
    "do_predict": True,
    "eval_steps": 6,
    "num_train_epochs": 12,
    "save_checkpoints_steps": 4,
}
FEATURES = {**LOOPS, "num_train_epochs": 12, "save_checkpoints_steps": 4, "lstm_width": 6}
MADE = {"input_file": "large.txt", "dupe_factor": 10}
SHORTENED = {**LOOPS, "num_train_epochs": 12, "save_checkpoints_steps": 4}
PRUNED = {"keep_heads": 1, "keep_neurons": 0.4, "rounds": 2, "num_train_epochs": 4}
KILLS = 14  # Of each variant in full size.
VARIANTS = {  # name -> command, flags; the first variant of a command is killed in the tests
    "records: one shard": ("create_pretraining_data", MADE),
    "records: shards": (
        "create_pretraining_data",
        {**MADE, "num_output_shards": 6, "num_workers": 2},
    ),
    "records: dynamic masking": (
        "create_pretraining_data",
        {**MADE, "masking": "dynamic", "num_output_shards": 4},
    ),
    "pre-training": ("run_pretraining", TRAINED),
    "pre-training: dynamic masking": (
        "run_pretraining",
        {
            **TRAINED,
            "masking": "dynamic",
            "vocab_file": "vocab.txt",
            "input_file": "unmasked.tfrecord",
        },
    ),
    "pre-training: LAMB, accumulation": (
        "run_pretraining",
        {**TRAINED, "optimizer": "lamb", "accumulate_steps": 2},
    ),
    "pre-training: float16": ("run_pretraining", {**TRAINED, "mixed_precision": "float16"}),
    "pre-training: two replicas": (
        "run_pretraining",
        {**TRAINED, "distribution_strategy": "mirrored_cpu"},
    ),
    "pre-training: evaluation": ("run_pretraining", {**TRAINED, "do_eval": True, "eval_steps": 10}),
    "pre-training: phases": (
        "run_pretraining",
        {
            **TRAINED,
            "phases": "16:0.6,32:0.4",
            "input_file": "records_{length}.tfrecord",
            "max_seq_length": None,
            "max_predictions_per_seq": None,
        },
    ),
    "fine-tuning": ("run_classifier", TUNED),
    "fine-tuning: LoRA": ("run_classifier", {**TUNED, "lora_rank": 2}),
    "frozen features": ("run_feature_based", FEATURES),
    "distillation": ("run_distillation", {**SHORTENED, "student_layers": 0, "hidden_weight": 1}),
    "general distillation": ("run_general_distillation", TRAINED),
    "pruning": ("prune_model", PRUNED),
    "export: SavedModel": ("export_saved_model", {}),
    "export: with LiteRT": ("export_saved_model", {"with_litert": "float32"}),
    "export: int8 weights": ("export_saved_model", {"weights": "int8"}),
}
RECORDS = {  # name -> flags
    "unmasked": {"masking": "dynamic"},
    "records_32": {},
    "records_16": {"max_seq_length": 16, "max_predictions_per_seq": 3},
}


def prepare(folder):
    """Makes a world, and additional inputs of the jobs."""
    world.make(folder)
    rng = random.Random(1)
    words = ["the", "line", "stops", "debugger", "a", "b", "c", "not", "here"]
    text = (
        "\n\n".join(
            "\n".join(
                " ".join(rng.choices(words, k=rng.randint(3, 20))) for _ in range(rng.randint(2, 9))
            )
            for _ in range(1500)
        )
        + "\n"
    )
    (folder / "large.txt").write_text(text)
    for name, flags in RECORDS.items():
        scripts.succeed(
            "data_prep.create_pretraining_data",
            folder,
            **{
                **COMMANDS["create_pretraining_data"][1],
                "output_file": f"{name}.tfrecord",
                "max_predictions_per_seq": 5,
                "dupe_factor": 4,
                **flags,
            },
        )
