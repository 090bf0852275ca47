#!/bin/sh
# Versions: mediapipe 1.2.3, ai-edge-litert 2.3.0 (for the schema of its files), CPython 3.12
#
# Behavior:
# TextClassifier opens a model with the process unit BertTokenizerOptions and its vocab.txt. For any vocabulary, its
# tokenizer lowercases A to Z and no other letters, and keeps accents. So the entry The of a cased vocabulary is never
# found, while Ça is. With an uncased vocabulary, whose entries have no accents, café and Ça are [UNK].
#
# Output:
#     uncased: [CLS] the [UNK] [UNK] film [SEP]
#     cased:   [CLS] the café Ça film [SEP]
#
# Why a good guess is wrong:
# A good guess is that the tokenizer is BERT's, as its name says: either uncased, with all letters in lower case and without
# accents, or cased, with the text as it is. The schema has no field for the casing, so the next guess is that the
# vocabulary decides. The tokenizer is neither: a cased model never gets the IDs of its training for a capital letter of
# English, and an uncased model gets [UNK] for each word with an accent.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"${PYTHON:-python3}" -m venv "$directory/venv"
"$directory/venv/bin/pip" install -q --disable-pip-version-check mediapipe==1.2.3 ai-edge-litert==2.3.0
cat > "$directory/ids.py" <<'PYTHON_END'
import io
import sys
import zipfile

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from mediapipe.tasks.metadata import metadata_schema_py_generated as metadata
from mediapipe.tasks.python import BaseOptions, text

LENGTH = 8
UNCASED = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "ca", "cafe", "film"]
CASED = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "The", "the", "Ça", "ça", "café", "film"]


def pack(table, identifier):
    builder = flatbuffers.Builder()
    builder.Finish(table.Pack(builder), identifier)
    return bytes(builder.Output())


def tensor(name, dtype):
    new = schema.TensorT()
    new.name, new.type, new.shape, new.buffer = name, dtype, np.array([1, LENGTH], np.int32), 0
    return new


def described(name, file=None):
    new = metadata.TensorMetadataT()
    new.name, new.associatedFiles = name, [file] if file else None
    return new


def associated(name, kind):
    new = metadata.AssociatedFileT()
    new.name, new.type = name, kind
    return new


def describe():
    """Returns the metadata of a classifier with BERT's tokenizer."""
    unit = metadata.ProcessUnitT()
    unit.optionsType = metadata.ProcessUnitOptions.BertTokenizerOptions
    unit.options = metadata.BertTokenizerOptionsT()
    unit.options.vocabFile = [associated("vocab.txt", metadata.AssociatedFileType.VOCABULARY)]
    labels = associated("labels.txt", metadata.AssociatedFileType.TENSOR_AXIS_LABELS)
    graph = metadata.SubGraphMetadataT()
    graph.inputTensorMetadata = [described(name) for name in ("ids", "mask", "segment_ids")]
    graph.outputTensorMetadata = [described("probability", labels)]
    graph.inputProcessUnits = [unit]
    root = metadata.ModelMetadataT()
    root.subgraphMetadata = [graph]
    return pack(root, b"M001")


def create_model(vocabulary):
    """Returns a model whose "probabilities" are the IDs of the tokens, as float32."""
    cast = schema.OperatorT()
    cast.opcodeIndex = 0
    cast.inputs, cast.outputs = np.array([0], np.int32), np.array([3], np.int32)
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.CAST
    code.version = 1
    graph = schema.SubGraphT()
    graph.tensors = [tensor(name, schema.TensorType.INT32) for name in ("a", "b", "c")]
    graph.tensors.append(tensor("d", schema.TensorType.FLOAT32))
    graph.inputs, graph.outputs = np.array([0, 1, 2], np.int32), np.array([3], np.int32)
    graph.operators = [cast]
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(describe(), np.uint8)
    entry = schema.MetadataT()
    entry.name, entry.buffer = "TFLITE_METADATA", 1
    model = schema.ModelT()
    model.version, model.operatorCodes, model.subgraphs = 3, [code], [graph]
    model.buffers, model.metadata = [schema.BufferT(), buffer], [entry]
    stream = io.BytesIO(pack(model, b"TFL3"))
    with zipfile.ZipFile(stream, "a") as archive:  # not compressed, as MediaPipe requires
        archive.writestr("vocab.txt", "\n".join(vocabulary) + "\n")
        archive.writestr("labels.txt", "".join(f"{number}\n" for number in range(LENGTH)))
    return stream.getvalue()


def tokenize(vocabulary, sentence):
    options = text.TextClassifierOptions(
        base_options=BaseOptions(model_asset_buffer=create_model(vocabulary))
    )
    with text.TextClassifier.create_from_options(options) as classifier:
        (result,) = classifier.classify(sentence).classifications
    ids = {category.index: int(category.score) for category in result.categories}
    return [vocabulary[ids[number]] for number in range(LENGTH) if ids[number]]


results = [tokenize(vocabulary, "The café Ça film") for vocabulary in (UNCASED, CASED)]
print("uncased:", *results[0])
print("cased:  ", *results[1])
assert results[0] == ["[CLS]", "the", "[UNK]", "[UNK]", "film", "[SEP]"]
assert results[1] == ["[CLS]", "the", "café", "Ça", "film", "[SEP]"]
PYTHON_END
"$directory/venv/bin/python" "$directory/ids.py" 2> "$directory/messages" || { cat "$directory/messages" >&2; exit 1; }
