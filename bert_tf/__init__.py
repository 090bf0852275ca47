"""BERT on TensorFlow 2: encoder, task models, tokenizer, losses, optimizer, checkpoints, export.

    import bert_tf

    model = bert_tf.load("mrpc")
    print(model.predict(text_a=["It rains."], text_b=["It is raining."]))

The names of `__all__` are imported on first access (PEP 562), so that `import bert_tf` takes no time.
"""

import importlib

_MODULES = {"BertConfig": "config", "BertTokenizer": "tokenization", "create_optimizer": "optimization",
            **dict.fromkeys(("BertClassifier", "BertEncoder", "BertLongTextClassifier", "BertMultipleChoice",
                             "BertPretrainer", "BertSpanLabeler", "BertTokenClassifier"), "models")}

__all__ = ["BertClassifier", "BertConfig", "BertEncoder", "BertLongTextClassifier", "BertMultipleChoice",
           "BertPretrainer", "BertSpanLabeler", "BertTokenClassifier", "BertTokenizer", "create_optimizer", "load"]


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__():
    return sorted({*globals(), *__all__})


def load(path, *, kind=None, bert_config_file=None, vocab_file=None, do_lower_case=None, strip_accents=None,
         max_seq_length=None, pairs=None, labels_file=None, multi_label=None, top_k=None, doc_stride=None,
         max_query_length=None, max_answer_length=None, version_2_with_negative=None, null_score_diff_threshold=None):
    """Loads a model that answers raw text.

    The options have the names and the rules of the flags of run.predict; `kind` is --task. All but `kind` and `top_k`
    are for checkpoints, since an export contains them. None stands for the value next to the checkpoint, or its
    default.

    Args:
      path: str or os.PathLike. Local or remote (gs://): the directory or prefix of a checkpoint of this project, the
        original BERT, Hugging Face, sentence-transformers, or the Model Garden; a SavedModel that export_saved_model
        wrote, with or without its version (defaults to the latest); or a .tflite file that it wrote, which does not
        require TensorFlow.
      kind: str, a key of bert_tf.tasks.KINDS. Required kind of task. Defaults to the kind in the model's directory,
        otherwise to "masked_lm" for a checkpoint with the weights of that head, otherwise to "encoder".
      bert_config_file: str or os.PathLike. Config, or name of a published size.
      vocab_file: str or os.PathLike. Vocabulary.
      do_lower_case: bool. Whether to lowercase texts.
      strip_accents: bool. Whether to strip accents.
      max_seq_length: int. Maximum number of tokens of an input, including [CLS] and [SEP]. Defaults to the length in
        task.json; without one, to all positions of the model for an encoder or a masked LM, otherwise to 128.
      pairs: bool. Whether an example has two texts, for classifiers, encoders, and masked LMs.
      labels_file: str or os.PathLike. File of label names, one per line, in the order of their IDs.
      multi_label: bool. Whether a text can have several labels of a classifier.
      top_k: int. Candidates per [MASK], or answers per question; 5 by default. An export must have at least as many.
      doc_stride: int. Tokens between the starts of two windows of a long context; 128 by default.
      max_query_length: int. Maximum number of tokens of a question; 64 by default.
      max_answer_length: int. Maximum number of tokens of an answer; 30 by default.
      version_2_with_negative: bool. Whether a question can have no answer.
      null_score_diff_threshold: float. Score difference above which a question has no answer; 0 by default.

    Returns:
      bert_tf.serving.LoadedModel:
        model(text_a=[...], text_b=[...]): dict of arrays, the outputs of the signature serving_default;
        model.predict(text_a=[...], text_b=[...]): list of dicts, the JSON objects of run.predict;
        model.encode([...]): embeddings, float32 [N, hidden_size];
        model.kind, model.inputs, model.labels, model.limit, model.metadata.

    Raises:
      bert_tf.errors.InputError: If there is no model, if it is corrupted, or if an option cannot be used with it.
    """
    options = {name: value for name, value in locals().items() if value is not None and name != "path"}
    from bert_tf import serving  # It imports NumPy and more; this keeps `import bert_tf` fast.

    return serving.load(path, **options)
