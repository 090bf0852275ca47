"""Every script rejects impossible numbers, missing flags, and contradictory flags before it does any work.

The scripts run in this process. Tests of the settings show each rejection in detail.
"""

import pytest

from tests.robustness.commands import COMMANDS, get_error, get_flag_types

ANY_INTEGER = {"random_seed", "num_tpu_cores", "token_column", "label_column"}  # Flags for any 64-bit integer.
OPTIONAL = {  # Flags of COMMANDS with a default, or that a prompt or another flag replaces. All others are required.
    "create_pretraining_data": {"max_seq_length"},
    "learn_vocab": {"vocab_size"},
    "augment_data": {"text_columns"},
    "inspect_records": {"vocab_file", "max_seq_length"},
    "run_pretraining": {"max_predictions_per_seq", "train_batch_size", "num_train_steps"},
    "run_classifier": {"init_checkpoint", "train_batch_size"},
    "run_squad": {"init_checkpoint", "train_batch_size", "predict_file", "doc_stride", "max_query_length"},
    "run_tagger": {"init_checkpoint", "train_batch_size", "dev_file"},
    "run_multiple_choice": {"init_checkpoint", "train_batch_size"},
    "run_distillation": {"train_batch_size"},
    "run_general_distillation": {"max_predictions_per_seq", "train_batch_size", "num_train_steps"},
    "prune_model": {"keep_heads", "train_batch_size"},
    "compare_models": {"data_dir"},
    "nearest": {"query"},
    "fill_mask": {"text"},
    "answer": {"question"},
    "evaluate_export": {"data_dir"},
}
CONTRADICTIONS = (  # command, flags, part of the message
    ("answer", {"init_checkpoint": None, "saved_model": "served", "doc_stride": 9}, "`doc_stride`=9: has no effect"),
    ("answer", {"init_checkpoint": None, "model": "m.tflite", "max_seq_length": 9}, "`max_seq_length`=9: has no"),
    ("answer", {"null_score_diff_threshold": 1}, "`null_score_diff_threshold`=1.0: requires `version_2"),
    ("answer", {"context_file": "text.txt"}, "either `context` or `context_file`"),
    ("fill_mask", {"init_checkpoint": None, "saved_model": "served", "vocab_file": "vocab.txt"}, "`vocab_file`=vocab"),
    ("fill_mask", {"max_seq_length": 99}, "`max_seq_length`=99"),
    ("predict", {"model": "served", "max_seq_length": None, "do_lower_case": False}, "`do_lower_case`=False: has no"),
    ("predict", {"model": "served", "bert_config_file": "bert_config.json"}, "`bert_config_file`=bert_config.json:"),
    ("predict", {"model": "served", "task": "classifier"}, "`task`=classifier: has no effect with `model`=served"),
    ("run_squad", {"null_score_diff_threshold": -1.5}, "`null_score_diff_threshold`=-1.5: requires"),
    ("run_squad", {"null_score_diff_threshold": 1, "use_best_threshold": True, "version_2_with_negative": True},
     "`null_score_diff_threshold`=1.0: cannot be combined with `use_best_threshold`"),
    *(("run_classifier", {"task_name": "mrpc", name: value}, f"`{name}`={value}: requires `task_name`=own")
      for name, value in (("text_a_column", "a"), ("regression", True), ("label_separator", ","), ("strict", True))),
    ("run_classifier", {"label_separator": ",", "regression": True}, "`label_separator`=,: cannot be combined"),
    ("run_classifier", {"xnli_language": "de"}, "`xnli_language`=de: requires `task_name`=xnli"),
    ("run_classifier", {"glue_submission": True}, "`glue_submission`=True: requires `do_predict`"),
    ("run_classifier", {"eval_steps": 3}, "`eval_steps`=3: requires `do_eval`"),
    ("run_classifier", {"early_stopping_evals": 2}, "`early_stopping_evals`=2: requires `eval_steps`"),
    ("run_classifier", {"search_epochs": 5}, "`search_epochs`=5.0: requires `search`"),
    ("run_classifier", {"no_weight_decay": "("}, "`no_weight_decay`"),
    ("run_pretraining", {"masked_lm_prob": 0.3}, "`masked_lm_prob`=0.3: requires `masking`=dynamic"),
    ("run_pretraining", {"do_whole_word_mask": True}, "`do_whole_word_mask`=True: requires"),
    ("run_pretraining", {"eval_steps": 3}, "`eval_steps`=3: requires `do_eval`"),
    ("export_saved_model", {"format": "litert", "version": 3}, "`version`=3: requires `format`=saved_model"),
    ("export_saved_model", {"lengths": "8,16"}, "`lengths`=8,16: only applies to LiteRT"),
    ("export_saved_model", {"batch_sizes": 3}, "`batch_sizes`=3: only applies to LiteRT"),
    ("learn_vocab", {"initial_vocab": "vocab.txt", "vocab_size": None, "min_character_count": 3},
     "`min_character_count`=3: cannot be combined with `initial_vocab`"),
    ("augment_data", {"task_name": "mrpc"}, "`text_columns`=text: cannot be combined"),
    ("augment_data", {"text_columns": "text,label,text"}, "`text_columns`=text,label,text"),
    ("create_pretraining_data", {"masked_lm_prob": 15}, "`masked_lm_prob`=15.0: must be"),
    ("create_pretraining_data", {"max_seq_length": 4}, "`max_seq_length`=4"),
    ("run_distillation", {"student_checkpoint": "model"}, "`student_checkpoint`"),
    ("run_distillation", {"student_layers": 7}, "`student_layers`"),
    ("compare_models", {"models": "tuned,tuned"}, "`models`=tuned: is listed twice"),
    ("extract_features", {"layers": "first"}, "`layers`=first: "),
    ("extract_features", {"layers": 9}, "`layers`=9: layer 9 does not exist"),
    ("attention_report", {"text": None, "input_file": "text.txt", "text_b": "b"}, "`text_b`=b: requires `text`"),
    ("attention_report", {"data_dir": "own"}, "`data_dir`=own: requires `wrong_examples`"),
    ("analyze_attention", {"data_dir": "own"}, "`data_dir`=own: requires `importance_examples`"),
    ("nearest", {"layer": 9}, "`layer`=9: must be from "),
)


@pytest.fixture(autouse=True)
def in_world(world_folder, monkeypatch):
    """Makes the world the current directory."""
    monkeypatch.chdir(world_folder)


def is_about(error, name):
    return error.startswith((f"`{name}`", f"flag --{name}=", f"{name}:"))


@pytest.mark.parametrize("command", COMMANDS)
def test_impossible_numbers(command):
    accepted = []
    for name, kind in get_flag_types(command).items():
        is_any = name in ANY_INTEGER or command == "inspect_records"
        values = {"float": ("nan", "inf"), "int": (2**63,) if is_any else (2**31, -2)}.get(kind, ())
        accepted += [(name, value) for value in values if not is_about(get_error(command, {name: value}), name)]
    assert accepted == []


@pytest.mark.parametrize("command", COMMANDS)
def test_required_flags(command):
    names = COMMANDS[command][1]
    assert {name for name in names if f"`{name}`" not in get_error(command, {name: None})} == OPTIONAL.get(
        command, set())


@pytest.mark.parametrize(("command", "changes", "message"), CONTRADICTIONS)
def test_contradictions(command, changes, message):
    assert message in get_error(command, changes)


@pytest.mark.parametrize("command", COMMANDS)
def test_unknown_flag(command):
    assert "no_such_flag" in get_error(command, {"no_such_flag": 1})
