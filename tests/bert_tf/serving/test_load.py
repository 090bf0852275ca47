"""bert_tf.load: a checkpoint and its exports give the same responses for every kind of task."""

import dataclasses
import functools
import inspect
import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

import bert_tf
from bert_tf import models
from bert_tf.serving import exports
from bert_tf.serving.loading import CheckpointOptions
from bert_tf.tasks import KINDS
from run.inference.settings import PredictionSettings
from tests import scripts, toy_servables
from tests.encoders import make_encoder
from tests.errors import Message, raises_message, rejects
from tests.toy_servables import CONFIG, LOAD_OPTIONS, MAX_SEQ_LENGTH, REQUESTS, TASKS, TEXTS

# The first test writes seven models in three formats.
pytestmark = [pytest.mark.extra_large, pytest.mark.timeout(180)]

FORMATS = ("checkpoint", "SavedModel", "LiteRT")
PAIR = {"text_a": ["a dog"], "text_b": ["of"]}
assert_equal = functools.partial(toy_servables.assert_same_responses, rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="module")
def get_path(toy_checkpoints, toy_saved_models, toy_litert_files):
    """(task, one of FORMATS) -> path."""
    return lambda name, kind="checkpoint": {
        "checkpoint": toy_checkpoints / name,
        "SavedModel": toy_saved_models / name,
        "LiteRT": toy_litert_files / f"{name}.tflite",
    }[kind]


@pytest.fixture(scope="module")
def load(get_path):
    """(task, one of FORMATS) -> the loaded model, the same each time."""
    return functools.cache(
        lambda name, kind="checkpoint": bert_tf.load(
            get_path(name, kind), **(LOAD_OPTIONS.get(name, {}) if kind == "checkpoint" else {})
        )
    )


@pytest.mark.parametrize("name", REQUESTS)
def test_responses_of_all_formats_are_equal(load, get_path, name):
    trained = load(name)
    task = TASKS.get(name)
    request = REQUESTS[name]
    kind = task.kind if task else name.replace("pretrained", "masked_lm")
    assert (trained.kind, trained.labels) == (kind, (task.labels or None) if task else None)
    assert (trained.inputs, trained.limit) == (tuple(request), MAX_SEQ_LENGTH)
    expected = trained(**request)
    for kind in ("SavedModel", "LiteRT"):
        exported = load(name, kind)
        assert (exported.metadata, exported.inputs) == (trained.metadata, trained.inputs)
        if kind == "SavedModel":
            assert exports.read_metadata(str(get_path(name, kind))) == trained.metadata
        assert_equal(
            {
                each: value
                for each, value in exported(**request).items()
                if each != "sequence_output"
            },
            {each: value for each, value in expected.items() if each != "sequence_output"},
        )
        assert exported(**{each: [] for each in request})["was_cut"].shape == (0,)
    rows = trained.predict(**request, batch_size=3)
    assert [row.keys() for row in rows] == [
        row.keys() for row in KINDS[trained.kind].rows(expected)
    ]
    assert [row["was_cut"] for row in rows] == expected["was_cut"].tolist()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("classifier", "checkpoint"),
        ("squad", "checkpoint"),
        ("encoder", "SavedModel"),
        ("encoder", "LiteRT"),
    ],
)
def test_embeddings_are_the_mean_of_the_last_layer(load, name, kind):
    """The models of all tasks have the same encoder."""
    outputs = load("encoder")(text=TEXTS)
    mask = outputs["token_mask"][..., np.newaxis]
    expected = (outputs["sequence_output"] * mask).sum(axis=1) / mask.sum(axis=1)
    embeddings = load(name, kind).encode(TEXTS, batch_size=3)
    assert embeddings.dtype == np.float32
    np.testing.assert_allclose(embeddings, expected, rtol=0, atol=1e-5)
    assert load(name, kind).encode([]).shape == (0, CONFIG.hidden_size)


def test_general_names_and_invalid_utf8(load):
    model = load("squad")
    assert_equal(
        model(text_a=["where ?"], text_b=["to london"]),
        model(question=["where ?"], context=["to london"]),
    )
    texts = [b"the dog\xff", "the \ud83d dog"]
    assert_equal(load("tagger")(text_a=texts), load("tagger", "LiteRT")(text=texts))


@pytest.mark.parametrize("label", [None, "sentence_order", "next_sentence"])
def test_only_the_next_sentence_gives_is_next(get_path, tmp_path, label):
    """A head for the sentence order has the same variables as one for the next sentence.

    A checkpoint without a label has no head for the next sentence.
    """
    shutil.copytree(get_path("pretrained"), tmp_path / "run")
    if label:
        objective = {"next_sentence": "sentence_pairs"}.get(label, label)
        (tmp_path / "run" / "run.json").write_text(json.dumps({"objective": objective}))
    model = models.BertPretrainer(make_encoder(CONFIG), sentence_label=label)
    tf.train.Checkpoint(model=model).write(str(tmp_path / "run" / "ckpt-3"))
    answer = bert_tf.load(tmp_path / "run", **LOAD_OPTIONS["pretrained"])(**PAIR)
    assert ("is_next" in answer) == (label == "next_sentence")
    assert answer["num_masks"].tolist() == [0]
    assert "is_next" not in bert_tf.load(tmp_path / "run", max_seq_length=MAX_SEQ_LENGTH)(
        text=["a [MASK]"]
    )


def test_labels_from_a_file(load, get_path, tmp_path):
    shutil.copytree(get_path("classifier"), tmp_path / "bare")
    (tmp_path / "bare" / "task.json").unlink()
    (tmp_path / "labels.txt").write_text("x\ny\nz\n")
    options = {"kind": "classifier", "max_seq_length": MAX_SEQ_LENGTH, "pairs": True}
    with rejects(None, "output_weights has shape", "set `labels_file`", "names of the 3"):
        bert_tf.load(tmp_path / "bare", **options)
    model = bert_tf.load(tmp_path / "bare", labels_file=tmp_path / "labels.txt", **options)
    assert model.labels == ("x", "y", "z")
    assert model.predict(**PAIR) == load("classifier").predict(**PAIR)


@dataclasses.dataclass(frozen=True)
class InvalidOptions:
    """Options that `bert_tf.load` rejects.

    Attributes:
      name: str. Name of a model of toy_servables.
      format: str. "checkpoint", "SavedModel", or "LiteRT".
      options: Dict of the options.
      message: Message.
    """

    name: str
    format: str
    options: dict
    message: Message


@pytest.mark.parametrize(
    "case",
    [
        InvalidOptions(
            name="nowhere",
            format="checkpoint",
            options={},
            message=Message("path", "nowhere", "does not exist"),
        ),
        InvalidOptions(
            name="encoder",
            format="checkpoint",
            options={"strip_accents": "no"},
            message=Message(None, "strip_accents is 'no'", "must be true or false"),
        ),
        InvalidOptions(
            name="tagger",
            format="checkpoint",
            options={"kind": "tagger"},
            message=Message("kind", "must be one of classifier, token_classifier", value="tagger"),
        ),
        InvalidOptions(
            name="tagger",
            format="checkpoint",
            options={"max_seq_length": "64"},
            message=Message(None, "max_seq_length is '64'", "must be an integer or null"),
        ),
        InvalidOptions(
            name="tagger",
            format="checkpoint",
            options={"do_lower_case": "no"},
            message=Message(
                "do_lower_case", "conflicts with task.json of `path`=", "tagger", "True", value="no"
            ),
        ),
        InvalidOptions(
            name="tagger",
            format="LiteRT",
            options={"max_seq_length": 8},
            message=Message(
                "max_seq_length", "has no effect with `path`=", "tagger.tflite", value=8
            ),
        ),
        InvalidOptions(
            name="masked_lm",
            format="SavedModel",
            options={"top_k": 9},
            message=Message(
                "top_k", "must be at most 3", "`top_k` of the export", "masked_lm/1", value=9
            ),
        ),
        InvalidOptions(
            name="masked_lm",
            format="checkpoint",
            options={"top_k": 10**6},
            message=Message(
                "top_k", "must be at most", value=1000000, end="the size of the vocabulary"
            ),
        ),
        InvalidOptions(
            name="squad",
            format="checkpoint",
            options={"top_k": 10**6},
            message=Message("top_k", value=1000000, end="must be at most 1000"),
        ),
    ],
)
def test_invalid_options(get_path, case):
    with raises_message(case.message):
        bert_tf.load(get_path(case.name, case.format), **case.options)


def test_a_checkpoint_wins_over_an_export_in_its_directory(get_path, tmp_path):
    folder = shutil.copytree(get_path("classifier"), tmp_path / "out")
    shutil.copytree(get_path("classifier", "SavedModel"), folder / "3")
    assert [exports.is_export(str(path)) for path in (folder, folder / "3")] == [False, True]


def test_a_saved_model_of_another_project(tmp_path):
    tf.saved_model.save(tf.Module(), str(tmp_path / "digits" / "1"))
    with rejects(
        "path",
        "was not exported by export_saved_model",
        "no assets.extra/task.json, which describes the task",
    ):
        bert_tf.load(tmp_path / "digits")


def test_the_options_have_the_names_of_flags():
    options = CheckpointOptions.__annotations__
    arguments = {*inspect.signature(bert_tf.load).parameters} - {"options"} | {*options}
    assert arguments == {"path", "kind", *PredictionSettings(model="x").values()} - {
        "model",
        "task",
        "input_file",
        "columns",
        "id_column",
        "table_dialect",
        "output_file",
        "batch_size",
    }
    assert all(f"  {name}: " in inspect.getdoc(CheckpointOptions) for name in options)
    assert all(name in inspect.getdoc(bert_tf.load) for name in arguments)
    with pytest.raises(TypeError, match="unexpected keyword argument 'model'"):
        bert_tf.load("path", model="squad")


def test_a_litert_file_requires_no_tensorflow(load, get_path):
    code = (
        "import json, sys\nsys.modules['tensorflow'] = None\nimport bert_tf\n"
        f"model = bert_tf.load({str(get_path('squad', 'LiteRT'))!r})\n"
        "print(json.dumps(model.predict(**json.loads(sys.argv[1]))))\n"
    )
    done = scripts.run_python("-c", code, json.dumps(REQUESTS["squad"]))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == load("squad", "LiteRT").predict(**REQUESTS["squad"])
