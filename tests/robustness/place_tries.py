"""Paths that are not what they should be, and outputs that would take the place of what is given."""

import os

from tests.robustness.commands import TRAINING, attempt

# Flags of files and folders that are read: what a path that leads nowhere must be called.
READ = {
    "create_pretraining_data": ("input_file", "vocab_file"),
    "learn_vocab": ("input_file", "initial_vocab"),
    "augment_data": ("input_file", "init_checkpoint", "vocab_file", "bert_config_file"),
    "inspect_records": ("input_file", "vocab_file"),
    "run_pretraining": ("input_file", "bert_config_file", "eval_input_file"),
    "run_classifier": ("data_dir", "vocab_file", "bert_config_file"),
    "run_squad": ("train_file",),
    "run_tagger": ("train_file",),
    "run_multiple_choice": ("train_file",),
    "run_distillation": ("teacher", "data_dir"),
    "run_general_distillation": ("teacher", "input_file"),
    "extract_features": ("input_file", "vocab_file", "bert_config_file"),
    "predict": ("model", "input_file"),
    "export_saved_model": ("labels_file", "vocab_file"),
    "evaluate_export": ("model", "data_dir"),
    "convert_checkpoint": ("vocab_file", "bert_config_file"),
    "compare_models": ("models",),
    "analyze_attention": ("input_file", "treebank"),
    "attention_report": ("vocab_file", "bert_config_file"),
    "nearest": ("input_file", "vectors"),
    "probe_layers": ("train_file", "dev_file"),
}
# (command, flag of the file that is written, flags of files that are read and would be lost)
WRITTEN = (
    ("create_pretraining_data", "output_file", {"input_file": "text.txt", "vocab_file": "vocab.txt"}),
    ("learn_vocab", "vocab_file", {"input_file": "text.txt", "initial_vocab": "vocab.txt"}),
    ("augment_data", "output_file", {"input_file": "own/train.tsv"}),
    ("extract_features", "output_file", {"input_file": "text.txt", "vocab_file": "vocab.txt",
                                         "bert_config_file": "model/bert_config.json"}),
    ("predict", "output_file", {"input_file": "text.txt", "vocab_file": "vocab.txt"}),
    ("evaluate_export", "output_file", {"data_dir": "own/dev.tsv", "model": "served/1/saved_model.pb"}),
    ("measure_quantization", "output_file", {"data_dir": "own/dev.tsv", "init_checkpoint": "tuned/vocab.txt"}),
    ("attention_report", "output_file", {"vocab_file": "vocab.txt", "init_checkpoint": "model/bert_config.json"}),
)
PARTS = (("extract_features", "output_file", "model/vocab.txt", "init_checkpoint"),
         ("extract_features", "output_file", "model/bert_model.ckpt.index", "init_checkpoint"),
         ("predict", "output_file", "tuned/task.json", "model"),
         ("predict", "output_file", "tuned/checkpoint", "model"),
         ("augment_data", "output_file", "model/bert_config.json", "init_checkpoint"),
         ("measure_quantization", "output_file", "tuned/run.json", "init_checkpoint"),
         ("evaluate_export", "output_file", "tuned/run.json", "init_checkpoint"))
FOUND = (  # (command, changes, flag of the output): what would be read by the next run
    ("create_pretraining_data", {"input_file": "texts", "output_file": "texts/new.tfrecord"}, "output_file"),
    ("create_pretraining_data", {"input_file": "texts/*", "output_file": "texts/new"}, "output_file"),
    ("learn_vocab", {"input_file": "texts/*.txt", "vocab_file": "texts/vocab.txt"}, "vocab_file"),
    ("run_pretraining", {"input_file": "*.tfrecord,new/*"}, "output_dir"),
    ("run_pretraining", {"eval_input_file": "new,records.tfrecord", "output_dir": "new/run"}, "output_dir"),
    ("run_general_distillation", {"input_file": "*.tfrecord,new/*"}, "output_dir"),
    ("run_multiple_choice", {"data_format": "race", "train_file": "race", "output_dir": "race/out"}, "output_dir"),
)
MODEL_FOLDERS = (  # (command, changes, what must be named): training into a model that is there
    *((command, {"output_dir": folder}, f"--output_dir={folder}") for command in (
        "run_pretraining", "run_classifier", "run_squad", "run_tagger", "run_multiple_choice")
      for folder in ("model", "hf")),
    ("run_classifier", {"init_checkpoint": "hf", "output_dir": "hf"}, "--output_dir=hf: holds a model"),
    ("run_classifier", {"init_checkpoint": "hf", "output_dir": "wide"}, "--output_dir=wide: holds a model"),
    ("run_distillation", {"output_dir": "tuned"}, "--output_dir=tuned: is the folder of --teacher"),
    ("run_distillation", {"student_layers": None, "student_checkpoint": "model", "output_dir": "model/"},
     "--output_dir=model/: is the folder of --student_checkpoint"),
    ("run_distillation", {"output_dir": "wide"}, "--output_dir=wide: holds a model"),
    ("run_general_distillation", {"output_dir": "model"}, "--output_dir=model: is the folder of --teacher"),
    ("prune_model", {"output_dir": "tuned"}, "--output_dir=tuned: is the folder of --init_checkpoint"),
    ("prune_model", {"output_dir": "model"}, "--output_dir=model: is not empty"),
    ("analyze_attention", {"output_dir": "model"}, "--output_dir=model: is --init_checkpoint"),
    ("analyze_attention", {"output_dir": "tuned"}, "--output_dir=tuned: is not empty"),
    ("analyze_attention", {"input_file": "texts/a.txt", "output_dir": "texts"}, "--output_dir=texts: is not empty"),
    ("convert_checkpoint", {"output": "model"}, "--output=model: is the folder of --input"),
    ("convert_checkpoint", {"output": "tuned"}, "--output=tuned: is not empty"),
    ("convert_checkpoint", {"output": "tuned", "overwrite": True, "vocab_file": "tuned/vocab.txt"},
     "--output=tuned: holds --vocab_file=tuned/vocab.txt"),
)


def fifo(path):
    os.mkfifo(path)


def dangling(path):
    os.symlink("nowhere", path)


def looping(path):
    os.symlink(path.name, path)


def tries():
    """Yields the tries."""
    for command, names in READ.items():
        for name in names:
            yield attempt(command, {name: "none/at/all"}, "none/at/all")
    for command, output, given in WRITTEN:
        for name, path in given.items():
            changes = {name: path, output: path} if "/" not in path or name == "input_file" else {output: path}
            if (command, name) == ("learn_vocab", "initial_vocab"):
                changes["vocab_size"] = None
            yield attempt(command, {**changes, output: f"link{os.path.splitext(path)[1]}"}, f"--{output}=link",
                          files={f"link{os.path.splitext(path)[1]}": lambda link, path=path: os.symlink(path, link)}
                          ) if "/" not in path else attempt(command, {output: f"./{path}"}, f"--{output}=./{path}")
        for make, says in ((fifo, "is no regular file"), (dangling, "is a link to nowhere, which is not there")):
            ending = ".tsv" if command == "augment_data" else ".txt"
            yield attempt(command, {output: f"odd{ending}"}, f"--{output}=odd{ending}: {says}",
                          files={f"odd{ending}": make})
        yield attempt(command, {output: "empty"}, f"--{output}=empty: is a directory")
        if command != "create_pretraining_data":  # which makes folders
            yield attempt(command, {output: "none/new.tsv"}, f"--{output}=none/new.tsv: there is no folder none")
    for command, output, path, given in PARTS:
        yield attempt(command, {output: path}, f"--{output}={path}: is a file of --{given}")
    for command, changes, output in FOUND:
        yield attempt(command, changes, f"--{output}={changes.get(output, 'new')}: lies where",
                      files={"new/a.tfrecord": b"", "new/run/x": b""} if "new/" in str(changes) or "new," in str(
                          changes) else {})
    for command, changes, says in MODEL_FOLDERS:
        yield attempt(command, changes, says, after_work=True)
    for command in TRAINING:
        yield attempt(command, {"output_dir": "text.txt"}, "--output_dir=text.txt: is a file")
        yield attempt(command, {"output_dir": "gs:/bucket/x"}, "--output_dir=gs:/bucket/x: in a bucket it is gs://")
    for command in ("analyze_attention", "probe_layers"):
        yield attempt(command, {"output_dir": "text.txt"}, "--output_dir=text.txt: is a file")
    for name, path in (("train_file", "new/probes.tsv"), ("vocab_file", "new/probes.txt")):
        yield attempt("probe_layers", {name: path}, f"--output_dir=new: holds --{name}={path}", files={path: "a O\n"},
                      after_work=True)
    yield attempt("run_classifier", {"output_dir": "text.txt/below"}, "text.txt/below", after_work=True)
    yield attempt("create_pretraining_data", {"output_file": "labels.txt/new"}, "--output_file=labels.txt/new: labels")
    yield attempt("create_pretraining_data", {"output_file": "a,a"}, "--output_file=a: is named twice")
    yield attempt("create_pretraining_data", {"input_file": "loop"}, "loop: cannot be read", files={"loop": looping})
    yield attempt("create_pretraining_data", {"vocab_file": "pipe"}, "--vocab_file=pipe", files={"pipe": fifo})
    yield attempt("run_squad", {"train_file": "new/predictions.json", "predict_file": "new/predictions.json"},
                  "--output_dir=new: holds --train_file=new/predictions.json", files={"new/predictions.json": "{}"})
    yield attempt("run_tagger", {"dev_file": "new/test_predictions.txt"},
                  "--output_dir=new: holds --dev_file=new/test_predictions.txt", files={
                      "new/test_predictions.txt": "a O\n"})
    yield attempt("predict", {"output_file": "a\nb/c"}, "--output_file=a b/c")
    yield attempt("run_classifier", {"data_dir": "own\udcff"}, "--data_dir=")
