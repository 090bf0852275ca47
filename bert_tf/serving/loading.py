"""Loads a model in any format. Imports TensorFlow only if it is required."""

import os
from typing import TypedDict, Unpack

from bert_tf import files
from bert_tf.checkpoints import ModelDirectory, read_config_file, task_metadata
from bert_tf.checkpoints.directory import CONFIG_NAMES, VOCABULARY_NAMES
from bert_tf.checkpoints.tokenizers import to_vocab_txt
from bert_tf.config import PUBLISHED_SIZES, BertConfig
from bert_tf.errors import InputError, rename_argument
from bert_tf.serving import exports, onnx, openvino
from bert_tf.serving.model import LoadedModel
from bert_tf.tasks import KINDS


def _open_litert(path):
    from bert_tf.serving.litert import LiteRTModel  # Other formats do not require LiteRT.

    return LiteRTModel(path)


# Functions that open a local file as PlainModel.
_OPENERS = {
    exports.LITERT_SUFFIX: _open_litert,
    onnx.SUFFIX: onnx.open_model,
    openvino.SUFFIX: openvino.open_model,
}


class CheckpointOptions(TypedDict, total=False):
    """Options of `load` for checkpoints; an export contains its own.

    They have the names of the flags of run.predict. None stands for the value next to the
    checkpoint, or its default.

    Attributes:
      bert_config_file: str or os.PathLike. Config, or name of a published size.
      vocab_file: str or os.PathLike. Vocabulary.
      do_lower_case: bool. Whether to lowercase texts.
      strip_accents: bool. Whether to strip accents.
      max_seq_length: int. Maximum number of tokens of an input, including [CLS] and [SEP]. Defaults
        to the length in the model's directory; without one, to all positions for an encoder or a
        masked LM, otherwise to 128.
      pairs: bool. Whether an example has two texts, for classifiers, encoders, and masked LMs.
      sentence_pooling: str. Embedding of an encoder's texts: "mean", "max", "cls", or "pooler", the
        pooled output, which was trained for NSP. Defaults to the pooling in a directory of
        sentence-transformers, otherwise to "mean".
      labels_file: str or os.PathLike. File of label names, one per line, in the order of their IDs.
      multi_label: bool. Whether a text can have several labels of a classifier.
      doc_stride: int. Tokens between the starts of two windows of a long context; 128 by default.
      max_query_length: int. Maximum number of tokens of a question; 64 by default.
      max_answer_length: int. Maximum number of tokens of an answer; 30 by default.
      version_2_with_negative: bool. Whether a question can have no answer.
      null_score_diff_threshold: float. Score difference above which a question has no answer; 0 by
        default.
    """

    bert_config_file: str | os.PathLike | None
    vocab_file: str | os.PathLike | None
    do_lower_case: bool | None
    strip_accents: bool | None
    max_seq_length: int | None
    pairs: bool | None
    sentence_pooling: str | None
    labels_file: str | os.PathLike | None
    multi_label: bool | None
    doc_stride: int | None
    max_query_length: int | None
    max_answer_length: int | None
    version_2_with_negative: bool | None
    null_score_diff_threshold: float | None


def load(path, *, kind=None, top_k=None, **options: Unpack[CheckpointOptions]):
    """Loads a model that answers raw text.

    Args:
      path: str or os.PathLike. Local or remote (gs://): the directory or prefix of a checkpoint of
        this project, the original BERT, Hugging Face, sentence-transformers, or the Model Garden; a
        SavedModel that export_saved_model wrote, with or without its version (defaults to the
        latest); or a .tflite, .onnx, or .xml (OpenVINO) file that it wrote, which does not require
        TensorFlow.
      kind: str. Required kind of task: "classifier", "token_classifier", "span_labeler",
        "multiple_choice", "encoder", or "masked_lm". Defaults to the kind in the model's directory,
        otherwise to "masked_lm" for weights of that head, otherwise to "encoder". Flag --task of
        run.predict.
      top_k: int. Candidates per [MASK], or answers per question; 5 by default. An export must have
        at least as many.
      **options: Options for checkpoints: bert_config_file, vocab_file, do_lower_case,
        strip_accents, max_seq_length, pairs, sentence_pooling, labels_file, multi_label,
        doc_stride, max_query_length, max_answer_length, version_2_with_negative,
        null_score_diff_threshold. For their meaning, see
        `bert_tf.serving.loading.CheckpointOptions`.

    Returns:
      LoadedModel:
        model(text_a=[...], text_b=[...]): dict of arrays, the outputs of the signature
          serving_default;
        model.predict(text_a=[...], text_b=[...]): list of dicts, the JSON objects of run.predict;
        model.encode([...]): embeddings, float32 [texts, hidden_size];
        model.kind, model.inputs, model.labels, model.limit, model.metadata.

    Raises:
      bert_tf.errors.InputError: If there is no model, if it is corrupted, or if an option cannot be
        used with it.
    """
    known = CheckpointOptions.__annotations__
    unknown = next((name for name in options if name not in known), None)
    if unknown is not None:
        raise TypeError(f"load() got an unexpected keyword argument {unknown!r}")
    options = {name: options[name] for name in known if options.get(name) is not None}
    if kind not in (None, *KINDS):
        raise InputError(f"must be one of {', '.join(KINDS)}", "kind", kind)
    directory = ModelDirectory.open(path)
    with rename_argument(task="kind", labels="labels_file"):
        if not exports.is_export(directory):
            return _load_checkpoint(directory, kind, top_k=top_k, **options)
        if options:
            name, value = next(iter(options.items()))
            raise InputError(
                f"has no effect with `path`={directory.path}, whose settings are fixed by the "
                "export; omit it",
                name,
                value,
            )
        return open_export(directory, kind, top_k, "path")


def _load_checkpoint(
    directory, kind, *, bert_config_file=None, vocab_file=None, labels_file=None, **options
):
    """Loads a checkpoint with the files in its directory.

    For the arguments, see `load` and `CheckpointOptions`.
    """
    directory.check_exists("path")
    directory.check_loadable()
    path = directory.path
    stored = directory.served_task
    tokenizer = directory.tokenizer
    if bert_config_file in PUBLISHED_SIZES and not os.path.exists(bert_config_file):
        config = BertConfig.from_name(bert_config_file)
    else:
        config = (
            directory.config if bert_config_file is None else read_config_file(bert_config_file)
        )
        if config is None:
            raise InputError(
                f"contains no model with a {CONFIG_NAMES}; for other weights, set "
                "`bert_config_file`",
                "path",
                path,
            )
    if vocab_file is not None:
        directory.check_run_vocabulary("path", os.fspath(vocab_file))
    elif tokenizer.vocab_file is None:
        raise InputError(
            f"is required: there is no {VOCABULARY_NAMES} next to `path`={path}", "vocab_file"
        )
    vocab_file = to_vocab_txt(os.fspath(vocab_file)) if vocab_file else directory.vocab_txt
    from bert_tf.serving.checkpoint import detect_kind, load_model  # TensorFlow takes seconds.

    kind = kind or (stored.kind if stored else detect_kind(directory, config))
    requested = {name: value for name, value in options.items() if value is not None}
    if labels_file is not None:
        requested["labels"] = task_metadata.read_labels(os.fspath(labels_file))
    for name, value in requested.items():
        if name not in (*KINDS[kind].fields, *task_metadata.SHARED_FIELDS):
            raise InputError(f"has no effect on models of kind {kind}; omit it", name, value)
    max_length = config.max_position_embeddings
    if KINDS[kind].is_fine_tuned:
        max_length = min(max_length, task_metadata.DEFAULTS["max_seq_length"])
    casing = {"do_lower_case": tokenizer.do_lower_case, "strip_accents": tokenizer.strip_accents}
    if requested.get("do_lower_case") not in (None, tokenizer.do_lower_case):
        del casing["strip_accents"]
    defaults = {name: value for name, value in casing.items() if value is not None}
    metadata = task_metadata.resolve_metadata(
        stored, kind, requested, {"max_seq_length": max_length, **defaults}, f"`path`={path}"
    )
    return load_model(
        directory, metadata=metadata, config=config, vocab_file=vocab_file, argument="path"
    )


def open_export(path, kind=None, top_k=None, argument="model"):
    """Opens a file of a model, or a directory with a SavedModel, local or remote: LoadedModel.

    Args:
      path: str, or ModelDirectory. Path of the file or directory.
      kind: str or None. Required kind of task.
      top_k: int or None. Required number of candidates.
      argument: str. Name of the argument with the path, for error messages.

    Raises:
      InputError: If the export does not exist, is corrupted or another project's, or does not meet
        the requirements.
    """
    directory = ModelDirectory.open(path)
    path = directory.path
    model = open_export_file(path, argument) if exports.is_model_file(directory) else None
    version = path if model else exports.find_latest_version(directory, argument)
    metadata = model.metadata if model else exports.read_metadata(directory, argument)
    if kind not in (None, metadata.kind):
        raise InputError(f"must be of kind {kind}, but is of kind {metadata.kind}", argument, path)
    if top_k and metadata.top_k and top_k > metadata.top_k:
        raise InputError(
            f"must be at most {metadata.top_k}, the `top_k` of the export {version}", "top_k", top_k
        )
    if model:
        return LoadedModel(metadata, path, lambda texts: model(**texts))
    from bert_tf.serving.saved_model import call_signature, load_saved_model

    loaded = load_saved_model(version)  # It keeps the variables of its signatures.
    signature = loaded.signatures["serving_default"]
    inputs = KINDS[metadata.kind].inputs(metadata.pairs)
    if signature.structured_input_signature[1].keys() != inputs.keys():
        raise InputError(
            "takes IDs, not texts, for other runtimes; export it without `signatures`=ids",
            argument,
            path,
        )
    return LoadedModel(metadata, version, lambda texts: call_signature(signature, texts, metadata))


def open_export_file(path, argument="model"):
    """Opens a .tflite, .onnx, or .xml file, local or remote, as PlainModel.

    Raises InputError if it does not exist or is corrupted, or if its runtime is not installed.
    """
    if not files.at(path).is_file():
        raise InputError("does not exist", argument, path)
    opener = _OPENERS[os.path.splitext(path)[1]]
    with files.at(path).local_copy() as local:
        return opener(local)
