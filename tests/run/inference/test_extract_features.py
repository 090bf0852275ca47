"""run.extract_features: embeddings equal those of the encoder and of the original BERT."""

import errno
import io
import json
import os

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import files, models
from bert_tf.checkpoints import load_pretrained
from bert_tf.tokenization import BertTokenizer
from run.inference import extract, request_files, terminal, vector_files
from run.inference.settings import ExtractionSettings
from tests import remote_folders, scripts
from tests.errors import Message, raises_message, rejects

pytestmark = pytest.mark.large

EXTRACT = "run.extract_features"
LENGTH = 11
LINES = [
    b"the cat sat",
    b"",
    b"a dog ||| the cat ran",
    b"  cat ||| dog ||| ran  ",
    b"caf\xe9 the " + b"dog " * 12,
    b"a ||| ",
    b"the dog sat and ran",
    b"a",
]
TEXTS = [
    ("the cat sat", ""),
    ("", ""),
    ("a dog", "the cat ran"),
    ("cat ||| dog", "ran"),
    ("caf the " + "dog " * 12, ""),
    ("a |||", ""),
    ("the dog sat and ran", ""),
    ("a", ""),
]
TOKENS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "|",
    "the",
    "cat",
    "dog",
    "sat",
    "ran",
    "and",
    "a",
    "c",
    "##a",
    "##f",
]


@pytest.fixture(scope="module")
def flags(tmp_path_factory, reference):
    """Flags of the reference model, with a vocabulary of its size and an input file."""
    folder = tmp_path_factory.mktemp("extract")
    entries = [*TOKENS, *(f"[unused{number}]" for number in range(120 - len(TOKENS)))]
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in entries))
    (folder / "input.txt").write_bytes(b"\n".join(LINES) + b"\n")
    return {
        "vocab_file": folder / "vocab.txt",
        "input_file": folder / "input.txt",
        "max_seq_length": LENGTH,
        "bert_config_file": reference / "bert_config.json",
        "init_checkpoint": reference / "pretrain_init.ckpt",
    }


@pytest.fixture(scope="module")
def expected_lines(flags, reference, reference_config):
    """For each line, its tokens and the embeddings of the layers -1 and 0.

    They are from one batch of full length.
    """
    encoder = models.BertEncoder(reference_config)
    load_pretrained(encoder, str(reference / "pretrain_init.ckpt"))
    features = BertTokenizer(str(flags["vocab_file"])).encode(*zip(*TEXTS, strict=True), LENGTH)
    outputs = encoder(features)["encoder_outputs"]
    vectors = tf.stack([outputs[-1], outputs[0]], axis=2).numpy()
    lengths = features["input_mask"].numpy().sum(axis=1)
    return [
        ([TOKENS[id_] for id_ in ids[:length]], row[:length])
        for ids, row, length in zip(features["input_ids"].numpy(), vectors, lengths, strict=True)
    ]


def assert_rows(rows, expected):
    assert len(rows) == len(expected)
    for (tokens, vectors), (expected_tokens, expected_vectors) in zip(rows, expected, strict=True):
        assert list(tokens) == expected_tokens
        np.testing.assert_allclose(vectors, expected_vectors, rtol=0, atol=2e-5)


def test_json_lines_have_the_format_of_the_original_bert(flags, expected_lines, tmp_path, capsys):
    scripts.run_here(
        EXTRACT, output_file=tmp_path / "out.jsonl", layers="-1,0", batch_size=3, **flags
    )
    assert capsys.readouterr().out == (
        f"{tmp_path}/out.jsonl: embeddings of 8 lines, layers -1,0; "
        "1 truncated to --max_seq_length=11\n"
    )
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [list(row) for row in rows] == [["linex_index", "features"]] * 8
    assert [row["linex_index"] for row in rows] == list(range(8))
    layers = [layer for row in rows for feature in row["features"] for layer in feature["layers"]]
    assert [layer["index"] for layer in layers] == [-1, 0] * sum(
        len(row["features"]) for row in rows
    )
    assert_rows(
        [
            (
                [feature["token"] for feature in row["features"]],
                [[layer["values"] for layer in feature["layers"]] for feature in row["features"]],
            )
            for row in rows
        ],
        expected_lines,
    )
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


@pytest.mark.parametrize("batches_per_group", [1, 2])
def test_numpy_arrays_from_standard_input(flags, expected_lines, monkeypatch, batches_per_group):
    """The output directory is remote."""
    output = f"{remote_folders.new_folder()}/out.npz"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\n".join(LINES))))
    monkeypatch.setattr(extract, "GROUP_BYTES", batches_per_group * 4 * 3 * LENGTH * 2 * 32)
    scripts.run_here(
        EXTRACT,
        output_file=output,
        format="npz",
        layers="-1,0",
        batch_size=3,
        **{**flags, "input_file": "-"},
    )
    with files.at(output).local_copy() as path, np.load(path) as arrays:
        assert arrays["layers"].tolist() == [-1, 0]
        assert arrays["vectors"].dtype == np.float32
        tokens, vectors = (
            np.split(arrays[name], arrays["row_splits"][1:-1]) for name in ("tokens", "vectors")
        )
    assert_rows(list(zip(tokens, vectors, strict=True)), expected_lines)


def test_a_byte_order_mark_is_not_text(tmp_path, monkeypatch):
    """Files and standard input; run.answer and run.fill_mask read the latter."""
    (tmp_path / "lines.txt").write_bytes(b"\xef\xbb\xbfone\r\n\n\xef\xbb\xbftwo\n")
    assert list(request_files.read_texts(str(tmp_path / "lines.txt"))) == [
        ("one", ""),
        ("", ""),
        ("\ufefftwo", ""),
    ]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbfone\n\ntwo\xff\n")))
    assert list(terminal.read_requests(())) == ["one", "", "two"]


def test_records_in_a_remote_directory():
    """TensorFlow parses the records with the two lines of the guide."""
    rows = [
        (["[CLS]", "é"], np.arange(12, dtype=np.float32).reshape(2, 3, 2)),
        (["a"], np.ones([1, 3, 2], np.float32)),
    ]
    path = f"{remote_folders.new_folder()}/out.tfrecord"
    with vector_files.FORMATS["tfrecord"](path, [0, 1, 2], 2) as write:
        for number, row in enumerate(rows):
            write(number, *row)
    spec = {
        "linex_index": tf.io.FixedLenFeature([], tf.int64),
        "tokens": tf.io.RaggedFeature(tf.string),
        "vectors": tf.io.FixedLenSequenceFeature([3, 2], tf.float32, allow_missing=True),
    }
    records = list(tf.data.TFRecordDataset(path))
    for number, (record, (tokens, vectors)) in enumerate(zip(records, rows, strict=True)):
        parsed = tf.io.parse_single_example(record, spec)
        assert parsed["linex_index"] == number
        assert [token.decode() for token in parsed["tokens"].numpy()] == tokens
        np.testing.assert_array_equal(parsed["vectors"], vectors)


def test_json_equals_that_of_python_for_rounded_numbers(tmp_path):
    """Ties, signed zeros, exponents, trailing zeros, and numbers of any size have the same text."""
    rng = np.random.default_rng(5)
    vectors = np.stack(
        [
            np.resize(
                [
                    0.5e-6,
                    1.5e-6,
                    2.5e-6,
                    -1e-9,
                    0,
                    -0.0,
                    2**-7,
                    3 * 2**-7,
                    1,
                    -10,
                    0.1,
                    31.9999995,
                    9.95e-5,
                ],
                600,
            ),
            np.arange(-300, 300) * 0.5e-6,
            np.arange(-300, 300) / 1000,
            rng.normal(size=600),
            rng.normal(size=600) * 1e-5,
            rng.uniform(-31, 31, size=600),
        ]
    ).astype(np.float32)[:, np.newaxis]
    rows = [(["[CLS]", "é", '"', "a", "b", "c"], vectors), (["x"], vectors[:1] * 1e4)]
    with vector_files.FORMATS["jsonl"](str(tmp_path / "out"), [-2], 600) as write:
        for number, row in enumerate(rows):
            write(number, *row)
    expected = [
        json.dumps(
            {
                "linex_index": number,
                "features": [
                    {
                        "token": token,
                        "layers": [
                            {"index": -2, "values": [round(float(value), 6) for value in values[0]]}
                        ],
                    }
                    for token, values in zip(*row, strict=True)
                ],
            }
        )
        for number, row in enumerate(rows)
    ]
    assert (tmp_path / "out").read_text().splitlines() == expected


def test_pooling():
    vectors = np.arange(24, dtype=np.float32).reshape(3, 2, 4)
    tokens = ["[CLS]", "a", "[SEP]"]
    assert extract.pool(tokens, vectors, "none") == (tokens, vectors)
    # The numbers increase evenly, so the mean is the middle row.
    for pooling, token, row in (("cls", "[CLS]", 0), ("mean", "[MEAN]", 1)):
        pooled_tokens, pooled_vectors = extract.pool(tokens, vectors, pooling)
        assert pooled_tokens == [token]
        np.testing.assert_array_equal(pooled_vectors, vectors[row : row + 1])
    with rejects(
        None,
        "the embeddings are not finite",
        "NaN or infinity",
        "choose another checkpoint",
        "compute in float32",
    ):
        extract.pool(tokens, vectors * np.float32("nan"), "none")


def test_layers():
    assert ExtractionSettings(layers="-1,-2,0").parse_layers(2) == [-1, -2, 0]
    for layers, message in (
        ("-1,-3", Message(None, "layer -3 does not exist", "must be from -2 to 1")),
        ("-1;-2", Message(None, "must be comma-separated integers", "such as -1,-2")),
    ):
        with raises_message(message, file=f"`layers`={layers}"):
            ExtractionSettings(layers=layers).parse_layers(2)


def test_npz_on_a_full_disk(tmp_path, monkeypatch):
    """The error names the file. Nothing is left."""

    class FullDisk(io.RawIOBase):
        def write(self, data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(vector_files.tempfile, "TemporaryFile", lambda **_: FullDisk())
    path = str(tmp_path / "out.npz")
    with (
        rejects(path, "cannot be written", "No space left on device", error=OSError),
        vector_files.FORMATS["npz"](path, [0], 2) as write,
    ):
        write(0, ["a"], np.ones([1, 1, 2], np.float32))
    assert list(tmp_path.iterdir()) == []


def test_standard_input_that_is_closed(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    for read in (
        lambda: list(terminal.read_requests(())),
        lambda: list(request_files.read_texts("-")),
        lambda: list(request_files.read("-", ["text"])),
    ):
        with rejects(None, "standard input is closed", "set a file"):
            read()
