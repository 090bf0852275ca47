"""LiteRT files that MediaPipe's TextClassifier and TextEmbedder open, too.

    content = litert.convert_servable(servable, for_mediapipe=True)

MediaPipe opens a file with one graph, for one row of fixed length, that returns the answer itself:
a classifier's probabilities, or an encoder's embedding. A description of the graph's inputs and
outputs is in the model's metadata, as a flatbuffer of the schema metadata_schema.fbs. It names the
files of the vocabulary and of the labels in the archive at the end of the file (see
`litert_metadata`), which must not be compressed.

`LiteRTModel` opens the file like any other. The graph of a classifier has no output for the logits,
since MediaPipe would return them as a second classification; `LogitsGraphs` computes them, up to a
constant.
"""

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from bert_tf.errors import InputError
from bert_tf.features import FEATURES
from bert_tf.tasks import KINDS, Classifier, Encoder
from bert_tf.tasks.answers import softmax
from bert_tf.tokenization.vocabulary import VOCABULARY_NAME

MEDIAPIPE = "mediapipe"  # Value of the setting `metadata`.
PROBABILITIES = "probabilities"
LABEL_FILE = "labels.txt"

# Output that MediaPipe answers with, which is the first of the graph.
MAIN_OUTPUTS = {Classifier.name: PROBABILITIES, Encoder.name: "sentence_embedding"}

# Names by which MediaPipe (1.2.3) recognizes the inputs.
_INPUT_NAMES = dict(zip(FEATURES, ("ids", "mask", "segment_ids"), strict=True))
_BUFFER = "TFLITE_METADATA"  # Name of the flatbuffer in the model's metadata.

# Numbers of the fields of the schema's tables, and values of its enums.
_IDENTIFIER = b"M001"
_NAME = 0  # of all tables
_FILE_TYPE = 2  # of AssociatedFile
_LABELS = 2  # TENSOR_AXIS_LABELS
_VOCABULARY = 5
_FILES = 6  # of TensorMetadata
_INPUTS = 2  # of SubGraphMetadata
_OUTPUTS = 3
_INPUT_PROCESSES = 5
_OPTIONS_TYPE = 0  # of ProcessUnit
_OPTIONS = 1
_BERT_TOKENIZER = 4  # BertTokenizerOptions, whose first field lists the files of the vocabulary
_GRAPHS = 3  # of ModelMetadata


def check_task(metadata):
    """Raises InputError unless MediaPipe has a task for the model of a TaskMetadata.

    That is a classifier with labels, or an encoder, of single texts.
    """
    problem = None
    if metadata.kind not in MAIN_OUTPUTS:
        problem = f"is for classifiers and encoders; the model is a {metadata.kind}"
    elif metadata.pairs:
        problem = "is for models of single texts; the model reads pairs"
    elif metadata.kind == Classifier.name and not metadata.labels:
        problem = "is for classifiers with labels; the model predicts a number"
    elif any("\n" in label for label in metadata.labels):
        problem = "requires labels without line breaks"
    if problem:
        raise InputError(f"{problem}; omit `metadata`", "metadata", MEDIAPIPE)


def describe_differences(metadata, added_tokens=()):
    """Returns which texts MediaPipe's tokenizer reads differently from the model's, a str.

    MediaPipe 1.2.3 lowercases A to Z, splits at the ASCII white space, punctuation, and CJK
    characters, and leaves everything else in the words, for all vocabularies.
    """
    lower_case = metadata.do_lower_case
    strip_accents = lower_case if metadata.strip_accents is None else metadata.strip_accents
    found = ["capital letters other than A to Z" if lower_case else "the capital letters A to Z"]
    if strip_accents:
        found += ["accents and other marks", "Korean"]
    found += ["control characters", "spaces that are not ASCII", "words over 100 bytes"]
    if added_tokens:
        found.append("added tokens")
    return f"{', '.join(found[:-1])}, and {found[-1]}"


def trace_row(servable):
    """Returns the concrete function of a Servable for one row of its maximum length."""
    import tensorflow as tf

    from bert_tf.tasks.servable import trace

    def compute(**features):
        outputs = servable.compute_outputs(features)
        if servable.kind == Encoder.name:
            from bert_tf.tasks.encoder.graph import embed

            embedding = embed(outputs, features["input_mask"], servable.metadata)
            return {MAIN_OUTPUTS[Encoder.name]: embedding} | outputs
        is_multi_label = servable.metadata.multi_label
        activation = tf.sigmoid if is_multi_label else tf.nn.softmax
        return {PROBABILITIES: activation(outputs["logits"])}

    shape = [1, servable.max_seq_length]
    return trace(compute, dict.fromkeys(FEATURES, tf.TensorSpec(shape, tf.int32)))


def add_description(content, metadata):
    """Adds MediaPipe's description to the bytes of a .tflite file with one graph.

    Args:
      content: bytes.
      metadata: TaskMetadata.

    Returns:
      bytes. The new content. The output that MediaPipe answers with is the first.
    """
    model = schema.ModelT.InitFromPackedBuf(content, 0)
    (graph,) = model.subgraphs
    (signature,) = model.signatureDefs
    inputs = {each.tensorIndex: each.name.decode() for each in signature.inputs}
    outputs = {each.name.decode(): each.tensorIndex for each in signature.outputs}
    main_output = MAIN_OUTPUTS[metadata.kind]
    # Equal outputs can be one tensor, which then has the name of the main one.
    names = {index: name for name, index in outputs.items()} | {outputs[main_output]: main_output}
    graph.outputs = np.array(
        sorted(graph.outputs, key=lambda index: index != outputs[main_output]), np.int32
    )
    buffer = schema.BufferT()
    description = _describe(
        [_INPUT_NAMES[inputs[index]] for index in graph.inputs],
        [names[index] for index in graph.outputs],
        metadata,
    )
    buffer.data = np.frombuffer(description, np.uint8)
    entry = schema.MetadataT()
    entry.name = _BUFFER
    entry.buffer = len(model.buffers)
    model.buffers.append(buffer)
    model.metadata.append(entry)
    builder = flatbuffers.Builder(len(content) + 1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def list_files(metadata):
    """Returns the files that the description names, except the vocabulary: name -> text."""
    return {LABEL_FILE: "\n".join(metadata.labels) + "\n"} if metadata.labels else {}


def logits_to_probabilities(outputs, metadata):
    """Converts the logits of a classifier, float32 [R, LA] in a dict, to its probabilities."""
    logits = outputs["logits"]
    is_multi_label = metadata.multi_label
    return {PROBABILITIES: 1 / (1 + np.exp(-logits)) if is_multi_label else softmax(logits)}


def _describe(inputs, outputs, metadata):
    """Returns the bytes of MediaPipe's description.

    Args:
      inputs, outputs: Lists of str. Names of the graph's tensors in its order.
      metadata: TaskMetadata.
    """
    vocabulary = {_NAME: VOCABULARY_NAME, _FILE_TYPE: _VOCABULARY}
    tokenizer = {_OPTIONS_TYPE: _BERT_TOKENIZER, _OPTIONS: {0: [vocabulary]}}
    labels = {_FILES: [{_NAME: LABEL_FILE, _FILE_TYPE: _LABELS}]} if metadata.labels else {}
    graph = {
        _INPUTS: [{_NAME: name} for name in inputs],
        _OUTPUTS: [{_NAME: name} | labels for name in outputs],
        _INPUT_PROCESSES: [tokenizer],
    }
    builder = flatbuffers.Builder()
    root = _write_table(builder, {_NAME: f"BERT {metadata.kind}", _GRAPHS: [graph]})
    builder.Finish(root, _IDENTIFIER)
    return bytes(builder.Output())


def _write_table(builder, fields):
    """Writes a table.

    Args:
      builder: flatbuffers.Builder.
      fields: Dict of the number of a field -> its value: a str, an int for an enum of one byte, a
        dict for a table, or a list of these for a vector of tables.

    Returns:
      int. Offset of the table.
    """
    values = {number: _write_value(builder, value) for number, value in fields.items()}
    builder.StartObject(max(fields) + 1)
    for number, value in values.items():
        if isinstance(fields[number], int):
            builder.PrependInt8Slot(number, value, 0)
        else:
            builder.PrependUOffsetTRelativeSlot(number, value, 0)
    return builder.EndObject()


def _write_value(builder, value):
    """Writes the value of a field that is not an int; returns its offset, or the int."""
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        return builder.CreateString(value)
    if isinstance(value, dict):
        return _write_table(builder, value)
    offsets = [_write_table(builder, table) for table in value]
    builder.StartVector(flatbuffers.number_types.UOffsetTFlags.bytewidth, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return builder.EndVector()


class LogitsGraphs:
    """Graphs of a classifier's logits, which it computes from graphs of its probabilities."""

    has_head = False

    def __init__(self, graphs, metadata):
        """`graphs`: Buckets; `metadata`: TaskMetadata."""
        self._graphs = graphs
        # What `to_logits` recognizes an answer with several labels by.
        self._also = {"has_label": None} if metadata.multi_label else {}
        self._kind = KINDS[metadata.kind]

    def run(self, rows):
        """See Buckets."""
        return [self._kind.to_logits(output | self._also) for output in self._graphs.run(rows)]
