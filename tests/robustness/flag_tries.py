"""Flags that are needed, numbers that are none or too large, and flags that do not go together."""

from tests.robustness.commands import attempt

FLOATS = {
    "create_pretraining_data": ("masked_lm_prob", "short_seq_prob", "max_shard_mb"),
    "augment_data": ("replace_probability",),
    "run_pretraining": ("learning_rate", "weight_decay_rate", "clip_norm", "decay_power", "connect_timeout"),
    "run_classifier": ("learning_rate", "decay_power", "num_train_epochs", "warmup_proportion"),
    "run_squad": ("null_score_diff_threshold", "learning_rate", "clip_norm"),
    "run_tagger": ("weight_decay_rate", "num_train_epochs"),
    "run_multiple_choice": ("learning_rate",),
    "run_distillation": ("logits_weight", "label_weight", "hidden_weight", "attention_weight", "cls_weight",
                         "temperature", "inner_proportion", "replacing_rate", "replacing_proportion"),
    "run_general_distillation": ("hidden_weight", "learning_rate"),
    "prune_model": ("keep_heads", "keep_neurons", "keep_flops", "num_train_epochs", "warmup_proportion", "least_score"),
    "evaluate_export": ("most_lost",),
    "probe_layers": ("probe_learning_rate",),
    "answer": ("null_score_diff_threshold",),
}
WHOLE = {
    "create_pretraining_data": ("dupe_factor", "num_output_shards", "num_workers", "max_predictions_per_seq"),
    "learn_vocab": ("vocab_size", "num_unused", "min_count", "max_distinct_words"),
    "augment_data": ("copies", "num_candidates", "batch_size"),
    "run_pretraining": ("train_batch_size", "num_train_steps", "save_checkpoints_steps", "max_eval_steps",
                        "num_warmup_steps"),
    "run_classifier": ("train_batch_size", "eval_batch_size", "max_seq_length", "num_runs", "keep_checkpoint_max"),
    "run_squad": ("doc_stride", "max_query_length", "n_best_size", "max_answer_length"),
    "run_tagger": ("iterations_per_loop", "accumulate_steps"),
    "prune_model": ("rounds", "importance_examples"),
    "compare_models": ("timed_texts", "eval_batch_size"),
    "extract_features": ("batch_size",),
    "fill_mask": ("top_k",),
    "analyze_attention": ("batch_size", "importance_examples"),
    "attention_report": ("top_k", "max_texts"),
    "nearest": ("batch_size", "top_k"),
    "probe_layers": ("max_train_words", "num_probe_epochs"),
    "predict": ("batch_size",),
    "export_saved_model": ("version", "top_k"),
}
SEEDS = ("create_pretraining_data", "augment_data", "run_pretraining", "run_classifier", "compare_models",
         "analyze_attention", "probe_layers")
NEEDED = {
    "create_pretraining_data": ("input_file", "output_file", "vocab_file"),
    "learn_vocab": ("input_file", "vocab_file"),
    "augment_data": ("input_file", "output_file", "init_checkpoint", "text_columns"),
    "inspect_records": ("input_file",),
    "run_pretraining": ("input_file", "output_dir", "bert_config_file", "do_train"),
    "run_classifier": ("task_name", "data_dir", "output_dir", "do_train"),
    "run_squad": ("train_file", "output_dir"),
    "run_tagger": ("train_file",),
    "run_multiple_choice": ("train_file",),
    "run_distillation": ("teacher", "student_layers", "data_dir"),
    "run_general_distillation": ("teacher", "student_layers", "input_file", "output_dir"),
    "prune_model": ("init_checkpoint", "output_dir", "data_dir"),
    "measure_quantization": ("init_checkpoint", "data_dir"),
    "compare_models": ("models", "output_dir", "data_dir"),
    "extract_features": ("input_file", "output_file", "init_checkpoint"),
    "analyze_attention": ("init_checkpoint", "input_file", "output_dir"),
    "attention_report": ("init_checkpoint", "text", "output_file"),
    "nearest": ("init_checkpoint", "input_file"),
    "probe_layers": ("init_checkpoint", "train_file", "dev_file", "output_dir"),
    "fill_mask": ("init_checkpoint",),
    "answer": ("init_checkpoint", "context"),
    "predict": ("model", "input_file", "output_file"),
    "export_saved_model": ("init_checkpoint", "export_dir"),
    "evaluate_export": ("init_checkpoint", "model", "data_dir"),
    "convert_checkpoint": ("input", "output", "format"),
}
# (command, flags that have no effect together or contradict each other, what must be named)
TOGETHER = (
    ("answer", {"init_checkpoint": None, "saved_model": "served", "doc_stride": 9}, "--doc_stride=9: has no effect"),
    ("answer", {"init_checkpoint": None, "model": "m.tflite", "max_seq_length": 9}, "--max_seq_length=9: has no"),
    ("fill_mask", {"init_checkpoint": None, "saved_model": "served", "vocab_file": "vocab.txt"}, "--vocab_file=vocab"),
    ("fill_mask", {"saved_model": "served"}, "--init_checkpoint=model: --saved_model has its own"),
    ("predict", {"model": "served", "max_seq_length": None, "do_lower_case": False}, "--do_lower_case=False: has no"),
    ("predict", {"model": "served", "bert_config_file": "bert_config.json"}, "--bert_config_file=bert_config.json:"),
    ("predict", {"model": "served", "task": "classifier"}, "--task=classifier: has no effect with --model=served"),
    ("answer", {"null_score_diff_threshold": 1}, "--null_score_diff_threshold=1.0: requires --version_2"),
    ("answer", {"context_file": "text.txt"}, "either --context or --context_file"),
    ("run_squad", {"null_score_diff_threshold": -1.5}, "--null_score_diff_threshold=-1.5: requires"),
    ("run_squad", {"null_score_diff_threshold": 1, "use_best_threshold": True, "version_2_with_negative": True},
     "--null_score_diff_threshold=1.0: cannot be combined with --use_best_threshold"),
    ("run_squad", {"use_best_threshold": True}, "--use_best_threshold=True: requires --version_2"),
    ("run_squad", {"answer_metric": "korquad", "version_2_with_negative": True}, "--answer_metric=korquad"),
    ("run_classifier", {"task_name": "mrpc", "text_a_column": "a"}, "--text_a_column=a: requires --task_name=own"),
    ("run_classifier", {"task_name": "mrpc", "regression": True}, "--regression=True: requires --task_name=own"),
    ("run_classifier", {"task_name": "mrpc", "label_separator": ","}, "--label_separator=,: requires --"),
    ("run_classifier", {"task_name": "mrpc", "strict": True}, "--strict=True: requires --task_name=own"),
    ("run_classifier", {"label_separator": ",", "regression": True}, "--label_separator=,: cannot be combined"),
    ("run_classifier", {"xnli_language": "de"}, "--xnli_language=de: requires --task_name=xnli"),
    ("run_classifier", {"glue_submission": True}, "--glue_submission=True: requires"),
    ("run_classifier", {"eval_steps": 3}, "--eval_steps=3: requires --do_eval"),
    ("run_classifier", {"search": True}, "--search=True: requires --do_eval"),
    ("run_classifier", {"search_epochs": 5}, "--search_epochs=5.0: requires --search"),
    ("run_classifier", {"init_checkpoint": None, "bert_config_file": "bert_config.json", "vocab_file": "vocab.txt",
                        "keep_head": True}, "--keep_head=True: requires --init_checkpoint"),
    ("run_classifier", {"num_cpu_devices": 2}, "--num_cpu_devices=2: goes with --distribution_strategy=mirrored"),
    ("run_classifier", {"num_gpus": 64}, "--num_gpus=64: TensorFlow sees"),
    ("run_classifier", {"no_weight_decay": "("}, "--no_weight_decay"),
    ("run_pretraining", {"masked_lm_prob": 0.3}, "--masked_lm_prob=0.3: requires --masking=dynamic"),
    ("run_pretraining", {"do_whole_word_mask": True}, "--do_whole_word_mask=True: requires"),
    ("run_pretraining", {"eval_steps": 3}, "--eval_steps=3: requires --do_eval"),
    ("run_pretraining", {"masking": "dynamic"}, "--vocab_file is required"),
    ("run_pretraining", {"tpu_name": "grpc://x", "use_tpu": True}, "--tpu_name=grpc://x: a grpc:// address is"),
    ("run_pretraining", {"optimizer": "sgd"}, "--optimizer=sgd"),
    ("export_saved_model", {"format": "litert", "version": 3}, "--version=3: is a SavedModel's"),
    ("export_saved_model", {"lengths": "8,16"}, "--lengths=8,16: is of LiteRT's graphs"),
    ("export_saved_model", {"batch_sizes": 3}, "--batch_sizes=3: is of LiteRT's graphs"),
    ("export_saved_model", {"weights": "float16"}, "--weights=float16: --format=saved_model stores"),
    ("export_saved_model", {"format": "litert", "weights": "bfloat16"}, "--weights=bfloat16"),
    ("export_saved_model", {"format": "litert", "with_litert": "int8"}, "--with_litert=int8: goes with"),
    ("export_saved_model", {"format": "litert", "compute": "bfloat16"}, "--compute=bfloat16: goes with"),
    ("learn_vocab", {"initial_vocab": "vocab.txt", "vocab_size": None, "min_character_count": 3},
     "--min_character_count=3: cannot be combined with --initial_vocab"),
    ("learn_vocab", {"initial_vocab": "vocab.txt"}, "--vocab_size=140: --initial_vocab has"),
    ("augment_data", {"task_name": "mrpc"}, "--text_columns=text: cannot be combined"),
    ("augment_data", {"text_columns": "text,label,text"}, "--text_columns=text,label,text"),
    ("create_pretraining_data", {"beam_options": "--x"}, "--beam_options=--x: is for a --runner"),
    ("create_pretraining_data", {"masked_lm_prob": 15}, "--masked_lm_prob=15.0: a probability"),
    ("create_pretraining_data", {"max_seq_length": 4}, "--max_seq_length=4"),
    ("run_distillation", {"student_checkpoint": "model"}, "--student_checkpoint"),
    ("run_distillation", {"logits_weight": 0, "label_weight": 0}, "--logits_weight=0"),
    ("run_distillation", {"student_layers": 7}, "--student_layers"),
    ("run_distillation", {"answers_dir": "a", "keep_answers": False}, "--answers_dir=a"),
    ("prune_model", {"keep_flops": 0.5}, "--keep_flops=0.5: cannot be combined with --keep_heads"),
    ("compare_models", {"models": "tuned,tuned"}, "--models=tuned: is named twice"),
    ("compare_models", {"formats": "onnx"}, "--formats=onnx"),
    ("extract_features", {"layers": "first"}, "--layers=first"),
    ("extract_features", {"layers": 9}, "--layers=9: there is no layer 9"),
    ("extract_features", {"distribution_strategy": "multi_worker_mirrored"}, "--distribution_strategy=multi_worker"),
    ("attention_report", {"input_file": "text.txt"}, "--text, --input_file are given"),
    ("attention_report", {"text": None, "input_file": "text.txt", "text_b": "b"}, "--text_b=b: requires --text"),
    ("attention_report", {"data_dir": "own"}, "--data_dir=own: requires --wrong_examples"),
    ("attention_report", {"format": "pdf"}, "--format=pdf"),
    ("analyze_attention", {"data_dir": "own"}, "--data_dir=own: requires --importance_examples"),
    ("nearest", {"layer": 9}, "--layer=9: the model has the layers"),
    ("nearest", {"distribution_strategy": "multi_worker_mirrored"}, "--distribution_strategy=multi_worker"),
    ("probe_layers", {"label": "relations"}, "--label=relations: is of treebanks"),
    ("probe_layers", {"token_column": 2**31}, f"--token_column={2**31}"),
    ("fill_mask", {"text": "no mask"}, "--text=no mask"),
    ("fill_mask", {"max_seq_length": 99}, "--max_seq_length=99"),
)


def tries():
    """Yields the tries."""
    for command, names in FLOATS.items():
        for number, name in enumerate(names):
            value = ("nan", "inf")[number % 2]
            yield attempt(command, {name: value}, f"--{name}={value}")
    for command, names in WHOLE.items():
        for number, name in enumerate(names):
            value = (2**31, -1)[number % 2]
            yield attempt(command, {name: value}, f"--{name}={value}")
    for command in SEEDS:
        yield attempt(command, {"random_seed": 2**63}, f"--random_seed={2**63}")
        yield attempt(command, {"random_seed": "1.5"}, "--random_seed=1.5")
    for command, names in NEEDED.items():
        for name in names:
            yield attempt(command, {name: None}, f"--{name}" if name != "do_train" else "--do_train")
    for command, changes, says in TOGETHER:
        yield attempt(command, changes, says)
    for command in ("run_classifier", "learn_vocab", "convert_checkpoint"):
        yield attempt(command, {"no_such_flag": 1}, "no_such_flag")
