"""The guarded commands: three training steps of each task, technique, and option.

Only command-line flags set them.
"""

import collections

from tests import scripts

MODEL = {"bert_config_file": "config.json", "vocab_file": "vocab.txt"}
TRAINING = {
    "train_batch_size": 4,
    "learning_rate": 1e-3,
    "random_seed": 7,
    "iterations_per_loop": 1,
}
TUNING = {**TRAINING, "do_train": True, "num_train_epochs": 1.0, "max_seq_length": 24}
CLASSIFIER = {**MODEL, **TUNING, "task_name": "sst-2", "data_dir": "sst-2"}
OWN = {**MODEL, **TUNING, "task_name": "custom", "data_dir": "own"}
TAGGER = {**MODEL, **TUNING, "train_file": "train.txt", "dev_file": "dev.txt"}
SQUAD = {**MODEL, **TUNING, "doc_stride": 8, "max_query_length": 8, "train_file": "squad_v1.json"}
CHOICE = {**MODEL, **TUNING, "train_file": "choices.csv"}
RECORD = {"max_seq_length": 32, "max_predictions_per_seq": 5}
PRETRAINING = {
    **MODEL,
    **TRAINING,
    **RECORD,
    "do_train": True,
    "num_train_steps": 3,
    "num_warmup_steps": 1,
}
DYNAMIC = {"masking": "dynamic", "vocab_file": "vocab.txt", "do_whole_word_mask": True}
LOSSES = {"hidden_weight": 1, "attention_weight": 0.5, "cls_weight": 2}
FINE_TUNED = {
    "train_batch_size": 4,
    "learning_rate": 1e-3,
    "random_seed": 7,
    "num_train_epochs": 1.0,
}
DISTILLATION = {**FINE_TUNED, "iterations_per_loop": 1}
OF_CLASSIFIER = {**DISTILLATION, "teacher": "teacher", "data_dir": "sst-2", "student_layers": "0,2"}
OF_TAGGER = {**DISTILLATION, "teacher": "tagger", "train_file": "train.txt", "dev_file": "dev.txt"}
GENERAL = {
    **TRAINING,
    **RECORD,
    "teacher": "pretraining",
    "input_file": "sentence_pairs.tfrecord",
    "num_train_steps": 3,
    "num_warmup_steps": 1,
}
REPLACED = {**OF_CLASSIFIER, "teacher": "classifier", "student_layers": "0", "replacing_rate": 0.4}
FEATURES = {
    **TRAINING,
    "vocab_file": "vocab.txt",
    "init_checkpoint": "pretraining",
    "lstm_width": 9,
    "num_train_epochs": 1.0,
    "max_seq_length": 24,
    "train_file": "train.txt",
    "dev_file": "dev.txt",
}
PRUNING = {
    **FINE_TUNED,
    "init_checkpoint": "classifier",
    "data_dir": "sst-2",
    "keep_heads": 0.5,
    "keep_neurons": 0.5,
}
OPTIONS = {
    "bfloat16": {"mixed_precision": "bfloat16"},
    "float16": {"mixed_precision": "float16"},
    "accumulate": {"accumulate_steps": 2},
    "jit": {"jit_compile": True},
    "recompute": {"recompute_activations": True},
    "mirrored": {"distribution_strategy": "mirrored_cpu"},
}


# A command whose checkpoints are guarded: the module of a script, and a dict of its flags. Its key
# in `CASES` is its --output_dir.
Case = collections.namedtuple("Case", "module flags")


def pretraining(objective, records=None, **flags):
    return Case(
        "run.run_pretraining",
        {
            **PRETRAINING,
            "objective": objective,
            "input_file": f"{records or objective}.tfrecord",
            **flags,
        },
    )


RECORDS = {  # name -> flags of data_prep.create_pretraining_data
    f"{name}.tfrecord": {
        "input_file": "corpus.txt",
        "vocab_file": "vocab.txt",
        "dupe_factor": 2,
        "random_seed": 3,
        "num_workers": 1,
        **RECORD,
        **flags,
    }
    for name, flags in {
        "sentence_pairs": {"objective": "sentence_pairs"},
        "sentence_order": {"objective": "sentence_order", "short_seq_prob": 0.5},
        "packed": {"objective": "segment_pairs", "pack_sequences": True, "short_seq_prob": 0.9},
        "dynamic": {"objective": "sentence_pairs", "masking": "dynamic", "dupe_factor": 1},
    }.items()
}
CASES = {
    # Tasks.
    "classifier": Case("run.run_classifier", CLASSIFIER),
    "own_pairs": Case("run.run_classifier", {**OWN, "text_b_column": "second"}),
    "regression": Case("run.run_classifier", {**OWN, "regression": True, "label_column": "number"}),
    "multi_label": Case(
        "run.run_classifier", {**OWN, "label_column": "labels", "label_separator": "|"}
    ),
    "windows": Case(
        "run.run_classifier", {**OWN, "max_seq_length": 10, "window_stride": 4, "max_windows": 3}
    ),
    "tagger": Case("run.run_tagger", TAGGER),
    "document_context": Case(
        "run.run_tagger", {**TAGGER, "document_context": True, "train_batch_size": 3}
    ),
    "squad_v1": Case("run.run_squad", SQUAD),
    "squad_v2": Case(
        "run.run_squad", {**SQUAD, "train_file": "squad_v2.json", "version_2_with_negative": True}
    ),
    "multiple_choice": Case("run.run_multiple_choice", CHOICE),
    "pretraining": pretraining("sentence_pairs"),
    "sentence_order": pretraining("sentence_order"),
    "packed_pretraining": pretraining("segment_pairs", "packed", pack_sequences=True),
    "dynamic_masking": pretraining("sentence_pairs", "dynamic", **DYNAMIC),
    # Initial weights, configs, and other settings of training.
    "from_pretraining": Case(
        "run.run_classifier",
        {**CLASSIFIER, "bert_config_file": None, "init_checkpoint": "pretraining"},
    ),
    "shared_weights": Case("run.run_classifier", {**CLASSIFIER, "bert_config_file": "shared.json"}),
    "best": Case("run.run_classifier", {**CLASSIFIER, "do_eval": True, "eval_steps": 2}),
    "clipping_and_decay": pretraining(
        "sentence_pairs",
        clip_norm=0.1,
        weight_decay_rate=0.2,
        num_warmup_steps=2,
        beta_2=0.98,
        decay_power=2.0,
    ),
    "teacher": Case("run.run_classifier", {**CLASSIFIER, "bert_config_file": "deep.json"}),
    # Techniques.
    "lora": Case("run.run_classifier", {**CLASSIFIER, "lora_rank": 3}),
    "lora_frozen": Case("run.run_squad", {**SQUAD, "lora_rank": 2, "freeze_layers": 1}),
    "freeze_layers": Case("run.run_classifier", {**CLASSIFIER, "freeze_layers": 1}),
    "layerwise_decay": Case(
        "run.run_classifier", {**CLASSIFIER, "layerwise_learning_rate_decay": 0.5}
    ),
    "quantize": Case("run.run_classifier", {**CLASSIFIER, "quantize_from_step": 1}),
    "frozen_features": Case("run.run_feature_based", {**FEATURES, "features": "last"}),
    "frozen_weighted": Case("run.run_feature_based", {**FEATURES, "features": "weighted_sum_all"}),
    "distillation": Case(
        "run.run_distillation", {**OF_CLASSIFIER, **LOSSES, "keep_answers": False}
    ),
    "kept_answers": Case("run.run_distillation", {**OF_CLASSIFIER, **LOSSES, "temperature": 2.0}),
    "unlabeled": Case(
        "run.run_distillation", {**OF_CLASSIFIER, "unlabeled_file": "texts.txt", "label_weight": 0}
    ),
    "narrow_student": Case(
        "run.run_distillation",
        {**OF_TAGGER, "student_config_file": "narrow.json", "hidden_weight": 1, "cls_weight": 1},
    ),
    "theseus": Case("run.run_distillation", REPLACED),
    "of_regression": Case(
        "run.run_distillation",
        {**OF_CLASSIFIER, "teacher": "regression", "data_dir": "own", "student_layers": "0"},
    ),
    "of_squad": Case(
        "run.run_distillation",
        {
            **DISTILLATION,
            "teacher": "squad_v1",
            "train_file": "squad_v1.json",
            "predict_file": "squad_v1.json",
            "student_layers": "1",
        },
    ),
    "of_choice": Case(
        "run.run_distillation",
        {
            **DISTILLATION,
            "teacher": "multiple_choice",
            "train_file": "choices.csv",
            "dev_file": "choices.csv",
            "student_layers": "1",
            "keep_answers": False,
            **LOSSES,
            "cls_weight": 0,
        },
    ),
    "general_distillation": Case(
        "run.run_general_distillation",
        {**GENERAL, **LOSSES, "student_config_file": "narrow.json", "attention_weight": 0},
    ),
    "prune_model": Case("run.prune_model", PRUNING),
    "pruned_words": Case(
        "run.prune_model", {**PRUNING, "keep_heads": 1.0, "keep_neurons": 0.5, "embedding_size": 12}
    ),
    # Options.
    **{
        f"classifier_{name}": Case("run.run_classifier", {**CLASSIFIER, **flags})
        for name, flags in OPTIONS.items()
    },
    **{
        f"pretraining_{name}": pretraining("sentence_pairs", **flags)
        for name, flags in OPTIONS.items()
    },
    "pretraining_lamb": pretraining("sentence_pairs", optimizer="lamb"),
}


def run_needed(case, folder):
    """Runs the cases and creates the records whose output a case reads."""
    for flag in ("init_checkpoint", "teacher", "input_file"):
        if case.flags.get(flag) in {*CASES, *RECORDS}:
            run(case.flags[flag], folder)


def run(name, folder):
    """Runs a case and the cases that it needs, each only once.

    Args:
      name: str. Key of CASES or RECORDS.
      folder: pathlib.Path of a directory that `toy.write` filled.

    Raises:
      AssertionError: If a command fails, with the end of its standard error.
    """
    if (folder / name).exists():
        return
    if name in RECORDS:
        scripts.succeed(
            "data_prep.create_pretraining_data", folder, output_file=name, **RECORDS[name]
        )
        return
    case = CASES[name]
    run_needed(case, folder)
    scripts.succeed(case.module, folder, output_dir=name, **case.flags)
