"""Vectors equal a plain run of the encoder and the original's; files, order, windows, and what is said of bad input."""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorboard.plugins import projector

from bert_tf import files, models
from bert_tf.checkpoints import load_pretrained
from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from bert_tf.errors import InputError
from bert_tf.tokenization import BertTokenizer
from run.arrays import prediction
from run.inference import extraction
from run.inference import nearest as search
from run.inference.formats import vector_files
from run.inference.settings import ExtractionSettings, NearestSettings
from tests import remote_folders, scripts
from tests.encoders import make_encoder
from tests.settings import resolved

SCRIPT = "run.extract_features"
LENGTH, WIDTH = 11, 32
LINES = [b"the cat sat", b"", b"a dog ||| the cat ran", b"  cat ||| dog ||| ran  ", b"caf\xe9 the " + b"dog " * 12,
         b"a ||| ", b"the dog sat and ran", b"a"]
TEXTS = [("the cat sat", ""), ("", ""), ("a dog", "the cat ran"), ("cat ||| dog", "ran"),
         ("caf the " + "dog " * 12, ""), ("a |||", ""), ("the dog sat and ran", ""), ("a", "")]
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "|", "the", "cat", "dog", "sat", "ran", "and", "a", "c", "##a",
          "##f"]


@pytest.fixture(scope="module")
def model(tmp_path_factory, reference):
    """Flags of the reference model, with a vocabulary of its size, in a folder of their own with an input file."""
    folder = tmp_path_factory.mktemp("extract")
    entries = [*PIECES, *(f"[unused{number}]" for number in range(120 - len(PIECES)))]
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in entries))
    (folder / "input.txt").write_bytes(b"\n".join(LINES) + b"\n")
    return folder, {"vocab_file": "vocab.txt", "bert_config_file": reference / "bert_config.json",
                    "init_checkpoint": reference / "pretrain_init.ckpt", "max_seq_length": LENGTH}


@pytest.fixture(scope="module")
def expected(model, reference, reference_config):
    """For each line its pieces and vectors of the layers -1 and 0, from one run padded to the full length."""
    folder, _ = model
    tokenizer = BertTokenizer(str(folder / "vocab.txt"))
    encoder = models.BertEncoder(reference_config)
    load_pretrained(encoder, str(reference / "pretrain_init.ckpt"))
    features = tokenizer.encode(*zip(*TEXTS, strict=True), LENGTH)
    outputs = encoder(features)["encoder_outputs"]
    vectors = tf.stack([outputs[-1], outputs[0]], axis=2).numpy()
    lengths = features["input_mask"].numpy().sum(axis=1)
    return [([PIECES[id_] for id_ in ids[:length]], row[:length])
            for ids, row, length in zip(features["input_ids"].numpy(), vectors, lengths, strict=True)]


def assert_rows(rows, expected, atol=2e-5):
    assert len(rows) == len(expected)
    for (pieces, vectors), (expected_pieces, expected_vectors) in zip(rows, expected, strict=True):
        assert list(pieces) == expected_pieces
        np.testing.assert_allclose(vectors, expected_vectors, rtol=0, atol=atol)


def test_json_lines_as_the_original_writes_them(model, expected):
    folder, flags = model
    output = scripts.succeed(SCRIPT, folder, input_file="input.txt", output_file="out.jsonl", layers="-1,0",
                             batch_size=3, **flags)
    assert output == ("out.jsonl: vectors of 8 lines, layers -1,0; 1 of them were longer than --max_seq_length=11 and "
                      "lost 7 pieces together\n")
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert [list(row) for row in rows] == [["linex_index", "features"]] * 8
    assert [row["linex_index"] for row in rows] == list(range(8))
    layers = [layer for row in rows for feature in row["features"] for layer in feature["layers"]]
    assert [layer["index"] for layer in layers] == [-1, 0] * sum(len(row["features"]) for row in rows)
    assert all(value == round(value, 6) for layer in layers for value in layer["values"])
    assert_rows([([feature["token"] for feature in row["features"]],
                  [[layer["values"] for layer in feature["layers"]] for feature in row["features"]]) for row in rows],
                expected)
    assert rows[2]["features"][0]["token"] == "[CLS]"
    assert sorted(path.name for path in folder.glob("out*")) == ["out.jsonl"]


def test_numpy_from_standard_input(model, expected):
    folder, flags = model
    done = scripts.run(scripts.command(SCRIPT, input_file="-", output_file="out.npz", output_format="npz",
                                       layers="-1,0", **flags), folder, b"\n".join(LINES))
    assert done.returncode == 0, done.stderr[-3000:]
    arrays = np.load(folder / "out.npz")
    assert arrays["layers"].tolist() == [-1, 0]
    assert arrays["vectors"].dtype == np.float32
    splits = arrays["row_splits"][1:-1]
    tokens, vectors = np.split(arrays["tokens"], splits), np.split(arrays["vectors"], splits)
    assert_rows(list(zip(tokens, vectors, strict=True)), expected)


@pytest.fixture(scope="module")
def encoder(reference, reference_config):
    encoder = make_encoder(reference_config, remove_padding=True)
    load_pretrained(encoder, str(reference / "pretrain_init.ckpt"))
    return encoder


def test_vectors_are_the_originals(encoder, reference_batches, reference_numbers):
    batch = {name: reference_batches[name][0] for name in ("input_ids", "input_mask", "segment_ids")}
    model = extraction.chosen_layers(encoder, [0, -1])
    predictor = prediction.Predictor(tf.distribute.get_strategy(), model, per_position=True)
    vectors = predictor(batch, 3)["vectors"]
    real = batch["input_mask"] == 1
    numbers = reference_numbers("pretrain")
    for layer in (0, 1):
        np.testing.assert_allclose(vectors[real][:, layer], numbers[f"forward/layer_{layer}"][real], rtol=0, atol=2e-5)


@pytest.mark.parametrize(("batch_size", "window_batches"), [(2, 1), (3, 2), (3, 9)])
def test_windows_and_batches_change_nothing(model, encoder, expected, batch_size, window_batches):
    folder, _ = model
    tokenizer = BertTokenizer(str(folder / "vocab.txt"))
    texts = extraction.read_texts(str(folder / "input.txt"))
    predictor = prediction.Predictor(
        tf.distribute.get_strategy(), extraction.chosen_layers(encoder, [-1, 0]), per_position=True)
    rows = extraction.extract(texts, tokenizer, predictor, LENGTH, batch_size, window_batches,
                                    extraction.CutTexts(tokenizer, LENGTH))
    assert_rows(list(rows), expected)


def test_records(tmp_path):
    """As the guide reads them: two lines."""
    rows = [(["[CLS]", "é"], np.arange(12, dtype=np.float32).reshape(2, 3, 2)),
            (["a"], np.ones([1, 3, 2], np.float32))]
    path = str(tmp_path / "out.tfrecord")
    with vector_files.WRITERS["tfrecord"](path, [0, 1, 2], 2) as writer:
        for row in rows:
            writer.write(*row)
    spec = {"linex_index": tf.io.FixedLenFeature([], tf.int64), "tokens": tf.io.RaggedFeature(tf.string),
            "vectors": tf.io.FixedLenSequenceFeature([3, 2], tf.float32, allow_missing=True)}
    for number, record in enumerate(tf.data.TFRecordDataset(path)):
        parsed = tf.io.parse_single_example(record, spec)
        assert parsed["linex_index"] == number
        assert [token.decode() for token in parsed["tokens"].numpy()] == rows[number][0]
        np.testing.assert_array_equal(parsed["vectors"], rows[number][1])
    assert number == 1


def test_json_is_what_python_makes_of_rounded_numbers(tmp_path):
    """Ties, signed zeros, exponents, trailing zeros, and numbers of any size, character for character."""
    rng = np.random.default_rng(5)
    vectors = np.stack([
        np.resize([0.5e-6, 1.5e-6, 2.5e-6, -1e-9, 0, -0.0, 2**-7, 3 * 2**-7, 1, -10, 0.1, 31.9999995, 9.95e-5], 600),
        np.arange(-300, 300) * 0.5e-6, np.arange(-300, 300) / 1000, rng.normal(size=600), rng.normal(size=600) * 1e-5,
        rng.uniform(-31, 31, size=600)]).astype(np.float32)[:, np.newaxis]
    rows = [(["[CLS]", "é", '"', "a", "b", "c"], vectors), (["x"], vectors[:1] * 1e4)]
    with vector_files.WRITERS["jsonl"](str(tmp_path / "out"), [-2], 600) as writer:
        for row in rows:
            writer.write(*row)
    expected = [json.dumps({"linex_index": number, "features": [
        {"token": piece, "layers": [{"index": -2, "values": [round(float(value), 6) for value in of_piece[0]]}]}
        for piece, of_piece in zip(*row, strict=True)]}) for number, row in enumerate(rows)]
    assert (tmp_path / "out").read_text().splitlines() == expected


FILE_FORMATS = [name for name in vector_files.WRITERS if name != "projector"]  # which writes a folder


@pytest.mark.parametrize("output_format", FILE_FORMATS)
def test_nothing_is_left_of_a_file_that_was_not_finished(tmp_path, output_format):
    (tmp_path / "out").write_text("of before")
    def write_and_stop():
        with vector_files.WRITERS[output_format](str(tmp_path / "out"), [-1], 2) as writer:
            writer.write(["a"], np.ones([1, 1, 2], np.float32))
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        write_and_stop()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_text() == "of before"


def test_nothing_is_left_of_a_folder_that_was_not_finished(tmp_path):
    def write_and_stop():
        with vector_files.WRITERS["projector"](str(tmp_path / "out"), [-1], 2) as writer:
            writer.write(["a"], np.ones([1, 1, 2], np.float32))
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        write_and_stop()
    assert list(tmp_path.iterdir()) == []


def extract(folder, flags, **others):
    """Extracts in this process; flags: of `model`."""
    settings = ExtractionSettings(
        ModelSettings(str(flags["bert_config_file"]), str(flags["init_checkpoint"])),
        TokenizerSettings(str(folder / flags["vocab_file"]), max_seq_length=LENGTH),
        input_file=str(folder / "input.txt"), **others)
    extraction.run(resolved(settings))


def test_projector(model, expected, tmp_path, capsys):
    """What TensorBoard's own message type takes, a row of metadata for each vector, and the texts in them."""
    folder, flags = model
    extract(folder, flags, output_format="projector", output_file=str(tmp_path / "out"), layers="-1,0")
    assert f"{tmp_path}/out: vectors of 8 lines" in capsys.readouterr().out
    config = text_format.Parse((tmp_path / "out" / "projector_config.pbtxt").read_text(), projector.ProjectorConfig())
    assert [each.tensor_name for each in config.embeddings] == ["layer -1", "layer 0"]
    for layer, each in enumerate(config.embeddings):
        vectors = np.loadtxt(tmp_path / "out" / each.tensor_path, delimiter="\t")
        np.testing.assert_allclose(vectors, np.concatenate([rows[:, layer] for _, rows in expected]), atol=3e-5)
        header, *rows = (tmp_path / "out" / each.metadata_path).read_text().splitlines()
        assert header == "piece\tline\ttext"
        assert len(rows) == len(vectors)
    assert rows[0] == "[CLS]\t0\tthe cat sat"
    assert "dog\t2\ta dog ||| the cat ran" in rows
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "metadata.tsv", "projector_config.pbtxt", "tensors_-1.tsv", "tensors_0.tsv"]


def test_points_of_pooled_vectors_are_labelled_by_their_texts():
    """The projector labels points by the first column that is no number; a file without lines has a header too."""
    folder = remote_folders.new_folder()
    for name, rows in (("some", [["[MEAN]"]] * 2), ("none", [])):
        with vector_files.WRITERS["projector"](f"{folder}/{name}", [-1], 2) as writer:
            for pieces in rows:
                writer.write(pieces, np.ones([1, 1, 2], np.float32), "the\tcat")
    assert files.read_text(f"{folder}/some/metadata.tsv").splitlines() == [
        "text\tline\tpiece", "the cat\t0\t[MEAN]", "the cat\t1\t[MEAN]"]
    assert files.read_text(f"{folder}/some/tensors_-1.tsv") == "1\t1\n1\t1\n"
    assert files.read_text(f"{folder}/none/metadata.tsv") == "piece\tline\ttext\n"


def test_nearest_lines(model, expected, tmp_path, capsys, monkeypatch):
    """A line is nearest to itself; vectors of a file give what computing them does."""
    folder, flags = model
    extract(folder, flags, output_format="npz", output_file=str(tmp_path / "a.npz"), pooling="mean", layers="0,-1")
    settings = NearestSettings(
        ModelSettings(str(flags["bert_config_file"]), str(flags["init_checkpoint"])),
        TokenizerSettings(str(folder / flags["vocab_file"]), max_seq_length=LENGTH),
        input_file=str(folder / "input.txt"), query=("the dog sat and ran", "a dog ||| the cat ran"), top_k=8)
    said = []
    for others in ({}, {"vectors": str(tmp_path / "a.npz")}):
        capsys.readouterr()
        given = dataclasses.replace(settings, **others)
        search.run(resolved(given))
        captured = capsys.readouterr()
        said.append(captured.out.splitlines())
        assert "input.txt: 1 line has bytes that are not UTF-8, which are left out\n" in captured.err
    assert said[0] == said[1]
    means = np.stack([vectors[:, 0].mean(axis=0) for _, vectors in expected])
    units = means / np.linalg.norm(means, axis=1, keepdims=True)
    for start, line in ((0, 6), (9, 2)):
        cosines = np.sort(units @ units[line])[::-1]
        assert said[0][start].strip() == settings.query[start > 0]
        assert [float(row.split()[0]) for row in said[0][start + 1 : start + 9]] == pytest.approx(cosines, abs=2e-3)
        for lines in said:
            assert lines[start + 1].split()[:2] == ["1.000", str(line + 1)]
    with np.load(tmp_path / "a.npz") as arrays:
        np.savez(tmp_path / "nan.npz", **{**arrays, "vectors": arrays["vectors"] * np.nan})
    with pytest.raises(InputError, match=r"`vectors`=.*nan\.npz: contains NaN or infinity; extract the vectors again"):
        search.run(resolved(dataclasses.replace(settings, vectors=str(tmp_path / "nan.npz"))))
    wrong = dataclasses.replace(settings, vectors=str(tmp_path / "a.npz"), layer=1)
    with pytest.raises(InputError, match=r"`layer`=1: .* holds the layers 0, -1"):
        search.run(resolved(wrong))
    np.save(tmp_path / "one.npy", np.zeros(3))
    np.savez(tmp_path / "flat.npz", vectors=np.zeros([8, 4]), layers=np.array([-1]))
    np.savez(tmp_path / "few.npz", vectors=np.zeros([8, 2, 4]), layers=np.array([-1]))
    (tmp_path / "x.npz").write_text("x")
    (tmp_path / "cut.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:99])
    for name in ("one.npy", "flat.npz", "few.npz", "x.npz", "cut.npz"):
        wrong = dataclasses.replace(settings, vectors=str(tmp_path / name))
        with pytest.raises(InputError, match=rf"`vectors`=.*{name}: is no \.npz of extract_features"):
            search.run(resolved(wrong))
    monkeypatch.setattr(search, "_pooled", lambda *arguments: np.full([len(LINES), 32], np.inf, np.float32))
    with pytest.raises(InputError, match=r"`init_checkpoint`=.*: gives vectors with NaN or infinity"):
        search.run(resolved(settings))


def test_pooling():
    vectors = np.arange(24, dtype=np.float32).reshape(3, 2, 4)
    pieces = ["[CLS]", "a", "[SEP]"]
    assert extraction.pool(pieces, vectors, "none") == (pieces, vectors)
    pooled, first = extraction.pool(pieces, vectors, "cls")
    assert pooled == ["[CLS]"]
    np.testing.assert_array_equal(first, vectors[:1])
    pooled, mean = extraction.pool(pieces, vectors, "mean")
    assert pooled == ["[MEAN]"]
    np.testing.assert_array_equal(mean, vectors[1:2])  # of numbers that rise evenly
    assert mean.dtype == np.float32


def test_layers():
    assert ExtractionSettings(layers="-1,-2,0").parse_layers(2) == [-1, -2, 0]
    with pytest.raises(ValueError, match="`layers`=-1,-3: there is no layer -3, the model has the layers 0 to 1, from "
                                         "the last -1 to -2"):
        ExtractionSettings(layers="-1,-3").parse_layers(2)
    with pytest.raises(ValueError, match="`layers`=-1;-2: comma-separated whole numbers are needed"):
        ExtractionSettings(layers="-1;-2").parse_layers(2)


@pytest.mark.parametrize(("flags", "message"), [
    ({"input_file": None}, "--input_file is required"),
    ({"input_file": "none.txt"}, "--input_file=none.txt: no such file"),
    ({"output_file": None}, "--output_file is required"),
    ({"output_file": "."}, "--output_file=.: is a directory, a file is needed"),
    ({"output_file": "./input.txt"}, "--output_file=./input.txt: is --input_file, which would be lost"),
    ({"output_file": "nowhere/out"}, "--output_file=nowhere/out: there is no folder nowhere"),
    ({"output_file": "gs://Bucket/out", "output_format": "npz"}, "--output_file=gs://Bucket/out: 'Bucket' is no name"),
    ({"init_checkpoint": None}, "--init_checkpoint is required"),
    ({"distribution_strategy": "multi_worker_mirrored"},
     "--distribution_strategy=multi_worker_mirrored: each worker would write the whole file"),
    ({}, "--layers=-1,-2,-3,-4: there is no layer -3"),
])
def test_mistakes(model, flags, message):
    folder, model_flags = model
    given = {"input_file": "input.txt", "output_file": "never.jsonl", **model_flags, **flags}
    assert message in scripts.fail(SCRIPT, folder, **given)
    assert not (folder / "never.jsonl").exists()
