"""Reads and writes the directories of models: checkpoints, and the files next to them.

They are from the original, this project's training runs, the Model Garden, Hugging Face, or
sentence-transformers; `bert_tf.checkpoints.directory.ORIGINS` lists them.

    ModelDirectory.open(path)             config, tokenizer, task, and weights, each read once
    load_pretrained(model, path)          loads the weights into a model
    open_checkpoint(path)                 its tensors under the original's names, without a model
    model_tensors(model)                  the same for a model
    FORMATS["tf1"].write(folder, tensors, config)

Modules are imported on first access to one of these names (PEP 562): all but the weights is read
without TensorFlow.
"""

from bert_tf.lazy_names import make_importer

_MODULES = {
    "FORMATS": "conversion",
    "ModelDirectory": "directory",
    "TokenizerFiles": "tokenizers",
    "convert": "conversion",
    "holds_adapters": "loading",
    "load_pretrained": "loading",
    "model_tensors": "loading",
    "open_checkpoint": "loading",
    "read_config_file": "directory",
}

__all__ = [
    "FORMATS",
    "ModelDirectory",
    "TokenizerFiles",
    "convert",
    "holds_adapters",
    "load_pretrained",
    "model_tensors",
    "open_checkpoint",
    "read_config_file",
]

__getattr__ = make_importer(__name__, _MODULES)
