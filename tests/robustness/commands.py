"""A valid command line for each script. Tests change it, so that the script must reject it."""

LONGEST_MESSAGE = 300  # Characters.

COMMANDS = {  # name -> package, flags
    "create_pretraining_data": (
        "data_prep",
        {
            "input_file": "text.txt",
            "output_file": "new.tfrecord",
            "vocab_file": "vocab.txt",
            "max_seq_length": 32,
        },
    ),
    "split_sentences": ("data_prep", {"input_file": "text.txt", "output_dir": "new"}),
    "learn_vocab": (
        "data_prep",
        {"input_file": "text.txt", "vocab_file": "new.txt", "vocab_size": 140},
    ),
    "inspect_records": (
        "data_prep",
        {"input_file": "records.tfrecord", "vocab_file": "vocab.txt", "max_seq_length": 32},
    ),
    "run_pretraining": (
        "run",
        {
            "bert_config_file": "bert_config.json",
            "input_file": "records.tfrecord",
            "output_dir": "new",
            "do_train": True,
            "max_seq_length": 32,
            "max_predictions_per_seq": 5,
            "train_batch_size": 4,
            "num_train_steps": 2,
        },
    ),
    "run_classifier": (
        "run",
        {
            "task_name": "custom",
            "data_dir": "own",
            "init_checkpoint": "model",
            "output_dir": "new",
            "do_train": True,
            "max_seq_length": 16,
            "train_batch_size": 4,
        },
    ),
    "run_squad": (
        "run",
        {
            "train_file": "squad.json",
            "predict_file": "squad.json",
            "init_checkpoint": "model",
            "output_dir": "new",
            "do_train": True,
            "max_seq_length": 24,
            "doc_stride": 5,
            "max_query_length": 7,
            "train_batch_size": 2,
        },
    ),
    "run_tagger": (
        "run",
        {
            "train_file": "words.txt",
            "dev_file": "words.txt",
            "init_checkpoint": "model",
            "output_dir": "new",
            "do_train": True,
            "max_seq_length": 16,
            "train_batch_size": 2,
        },
    ),
    "run_multiple_choice": (
        "run",
        {
            "train_file": "swag.csv",
            "init_checkpoint": "model",
            "output_dir": "new",
            "do_train": True,
            "max_seq_length": 16,
            "train_batch_size": 2,
        },
    ),
    "run_feature_based": (
        "run",
        {
            "train_file": "words.txt",
            "dev_file": "words.txt",
            "init_checkpoint": "model",
            "output_dir": "new",
            "max_seq_length": 16,
            "train_batch_size": 2,
        },
    ),
    "run_distillation": (
        "run",
        {
            "teacher": "tuned",
            "student_layers": 0,
            "data_dir": "own",
            "output_dir": "new",
            "train_batch_size": 4,
        },
    ),
    "run_general_distillation": (
        "run",
        {
            "teacher": "model",
            "student_layers": 0,
            "input_file": "records.tfrecord",
            "output_dir": "new",
            "max_seq_length": 32,
            "max_predictions_per_seq": 5,
            "train_batch_size": 4,
            "num_train_steps": 2,
        },
    ),
    "prune_model": (
        "run",
        {
            "init_checkpoint": "tuned",
            "data_dir": "own",
            "keep_heads": 0.5,
            "output_dir": "new",
            "train_batch_size": 4,
        },
    ),
    "extract_features": (
        "run",
        {
            "input_file": "text.txt",
            "output_file": "new.jsonl",
            "init_checkpoint": "model",
            "max_seq_length": 16,
            "layers": -1,
        },
    ),
    "analyze_attention": (
        "run",
        {
            "init_checkpoint": "model",
            "input_file": "text.txt",
            "output_dir": "new",
            "max_seq_length": 16,
        },
    ),
    "attention_report": (
        "run",
        {
            "init_checkpoint": "model",
            "text": "the line",
            "output_file": "new.html",
            "max_seq_length": 16,
        },
    ),
    "probe_layers": (
        "run",
        {
            "init_checkpoint": "model",
            "train_file": "words.txt",
            "dev_file": "words.txt",
            "output_dir": "new",
            "max_seq_length": 16,
        },
    ),
    "fill_mask": ("run", {"init_checkpoint": "model", "text": "a [MASK]", "max_seq_length": 16}),
    "answer": ("run", {"init_checkpoint": "span", "question": "What?", "context": "The line."}),
    "predict": ("run", {"model": "tuned", "input_file": "text.txt", "output_file": "new.jsonl"}),
    "export_saved_model": ("run", {"init_checkpoint": "tuned", "export_dir": "new"}),
    "evaluate_models": ("run", {"models": "tuned,served", "data_dir": "own"}),
    "convert_checkpoint": ("run", {"input": "model", "output": "new", "format": "huggingface"}),
}
