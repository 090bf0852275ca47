"""SavedModels, also loaded where this project cannot be imported."""

import dataclasses
import json
import subprocess
import sys
import sysconfig

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.client import pywrap_tf_session

from bert_tf import models
from bert_tf.config import BertConfig
from bert_tf.serving import saved_model
from bert_tf.tasks.classifier.graph import ServedClassifier
from bert_tf.tasks.metadata import TaskMetadata
from tests.encoders import make_encoder
from tests.graphs import list_operations
from tests.toy_servables import (
    CONFIG,
    MAX_SEQ_LENGTH,
    PIECES,
    REQUESTS,
    TEXTS,
    assert_near,
    make_servable,
)

# The first test exports seven models, and another process loads them.
pytestmark = [pytest.mark.large, pytest.mark.timeout(180)]

# Without the site module, editable installations are not found: site-packages is only a directory
# of modules.
ISOLATED = """
import json, sys
sys.path.append(sys.argv[1])
import numpy as np, tensorflow as tf, tensorflow_text
try:
    import bert_tf
    sys.exit("bert_tf can be imported")
except ImportError:
    pass
from tensorflow_serving.apis import prediction_log_pb2
for name, request in json.loads(sys.argv[4]).items():
    path = f"{sys.argv[2]}/{name}/1"
    model = tf.saved_model.load(path)
    request = {key: tf.constant(value) for key, value in request.items()}
    responses = {"texts": model.signatures["serving_default"](**request)}
    for record in tf.data.TFRecordDataset(f"{path}/assets.extra/tf_serving_warmup_requests"):
        request = prediction_log_pb2.PredictionLog.FromString(record.numpy()).predict_log.request
        assert request.model_spec.name == name
        signature = request.model_spec.signature_name
        inputs = {key: tf.constant(tf.make_ndarray(value)) for key, value in request.inputs.items()}
        responses[signature] = model.signatures[signature](**inputs)
    np.savez(f"{sys.argv[3]}/{name}.npz", **{f"{signature}/{key}": value.numpy()
             for signature, response in responses.items() for key, value in response.items()})
"""


@pytest.fixture(scope="module")
def responses(toy_saved_models, tmp_path_factory):
    """Task -> "signature/output" -> array, from a process without this project.

    The outputs for "texts" are those of REQUESTS.
    """
    folder = tmp_path_factory.mktemp("responses")
    done = subprocess.run(
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            ISOLATED,
            sysconfig.get_paths()["purelib"],
            toy_saved_models,
            folder,
            json.dumps(REQUESTS),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return {name: dict(np.load(folder / f"{name}.npz", allow_pickle=True)) for name in REQUESTS}


@pytest.fixture(scope="module")
def wide_model():
    """A classifier with nearly all of its bytes in matrices."""
    return models.BertClassifier(dataclasses.replace(CONFIG, vocab_size=3001, hidden_size=32), 3)


def serve(model, tokenizer):
    return ServedClassifier(
        model, tokenizer, TaskMetadata("classifier", MAX_SEQ_LENGTH, True, ("x", "y", "z"))
    )


def compute_probabilities(signature):
    return signature(text=tf.constant(TEXTS))["probabilities"].numpy()


def get_weights_size(path):
    return (path / "1" / "variables" / "variables.data-00000-of-00001").stat().st_size


@pytest.mark.parametrize("name", REQUESTS)
def test_responses_equal_those_of_the_servable(responses, toy_tokenizer, name):
    servable = make_servable(name, toy_tokenizer)
    response = responses[name]
    ids = saved_model.example_requests(servable)["ids"]
    expected = {
        "texts": servable.answer_texts(
            **{key: tf.constant(value) for key, value in REQUESTS[name].items()}
        ),
        "serving_default": servable.answer_texts(
            **{key: tf.constant(value) for key, value in servable.example_texts.items()}
        ),
        "ids": servable.answer({key: tf.constant(value) for key, value in ids.items()}),
    }
    expected["tf_example"] = expected["ids"]
    assert {key.partition("/")[0] for key in response} == {*expected}
    for key, value in response.items():
        signature, _, output = key.partition("/")
        wanted = expected[signature][output].numpy()
        if wanted.dtype == np.float32:
            assert_near(value, wanted)
        else:
            np.testing.assert_array_equal(value, wanted, err_msg=key)


@pytest.mark.parametrize("name", REQUESTS)
def test_inputs_of_a_wrong_rank(toy_saved_models, name):
    """For a scalar, kernels of TensorFlow Text would end the process.

    TF_SessionRun is the API of servers in C and C++; Python's Session.run rejects the shapes
    itself.
    """
    with tf.compat.v1.Session(graph=tf.Graph()) as session:
        graph = tf.compat.v1.saved_model.load(
            session, ["serve"], str(toy_saved_models / name / "1")
        ).signature_def["serving_default"]
        session._extend_graph()

        def find(tensor):
            return session.graph.get_tensor_by_name(tensor.name)._as_tf_output()

        def run(request):
            inputs = {
                find(graph.inputs[key]): np.array(value, object) for key, value in request.items()
            }
            return pywrap_tf_session.TF_SessionRun_wrapper(
                session._session,
                None,
                inputs,
                [find(output) for output in graph.outputs.values()],
                [],
                None,
            )

        valid = {key: values[:1] for key, values in REQUESTS[name].items()}
        for key in valid:
            for rank in {0, 1, 2, 3} - {np.ndim(valid[key])}:
                invalid = np.full([1] * rank, b"the film", object)
                with pytest.raises(
                    tf.errors.InvalidArgumentError,
                    match=f"tensor .*_{key}.* is not compatible with e",
                ):
                    run(valid | {key: invalid})
        assert len(run(valid)) == len(graph.outputs)


def test_contents(toy_saved_models):
    """The inputs that saved_model_cli shows, the vocabulary, the config, and the task."""
    loaded = tf.saved_model.load(str(toy_saved_models / "choice" / "1"))
    inputs = {
        name: {
            key: (spec.dtype, spec.shape.as_list())
            for key, spec in signature.structured_input_signature[1].items()
        }
        for name, signature in loaded.signatures.items()
    }
    assert inputs == {
        "serving_default": {"text_a": (tf.string, [None]), "choices": (tf.string, [None, None])},
        "ids": dict.fromkeys(
            ("input_ids", "input_mask", "segment_ids"), (tf.int32, [None, None, None])
        ),
        "tf_example": {"examples": (tf.string, [None])},
    }
    assets = toy_saved_models / "choice" / "1" / "assets"
    assert (assets / "vocab.txt").read_text().split() == PIECES.split()
    assert BertConfig.from_json_file(assets / "bert_config.json") == CONFIG
    assert json.loads((assets.with_name("assets.extra") / "task.json").read_text()) == {
        "kind": "multiple_choice",
        "max_seq_length": MAX_SEQ_LENGTH,
        "do_lower_case": True,
        "labels": [],
        "multi_label": False,
    }


@pytest.mark.extra_large
@pytest.mark.parametrize(
    ("weights", "ratio", "tolerance"), [("bfloat16", 0.55, 0.02), ("int8", 0.35, 0.05)]
)
def test_smaller_weights(wide_model, toy_tokenizer, tmp_path, weights, ratio, tolerance):
    """The matrices have half and a quarter of the bytes, and the model itself is unchanged.

    Both of TensorFlow's loaders read them.
    """
    servable = serve(wide_model, toy_tokenizer)
    expected = compute_probabilities(servable.answer_texts)
    path, _ = saved_model.save(servable, str(tmp_path), weights=weights)
    np.testing.assert_array_equal(compute_probabilities(servable.answer_texts), expected)
    response = compute_probabilities(tf.saved_model.load(path).signatures["serving_default"])
    assert 0 < np.abs(response - expected).max() < tolerance
    # This loader restores and initializes like the server.
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        graph = tf.compat.v1.saved_model.load(session, ["serve"], path).signature_def[
            "serving_default"
        ]
        assert_near(
            session.run(graph.outputs["probabilities"].name, {graph.inputs["text"].name: TEXTS}),
            response,
        )
    assert get_weights_size(tmp_path) < ratio * 4 * wide_model.count_params()


@pytest.mark.extra_large
@pytest.mark.parametrize(
    ("weights", "ratio"), [("float32", 1.05), ("bfloat16", 0.55), ("int8", 0.35)]
)
def test_matmuls_in_bfloat16(wide_model, toy_tokenizer, tmp_path, weights, ratio):
    """For all storage types, kernels are in bfloat16 and not cast at each request.

    The probabilities are float32.
    """
    expected = compute_probabilities(serve(wide_model, toy_tokenizer).answer_texts)
    model = models.BertClassifier(
        make_encoder(wide_model.encoder.config, dtype="mixed_bfloat16", layer="matrix"), 3
    )
    for variable, value in zip(model.variables, wide_model.variables, strict=True):
        variable.assign(value)
    path, _ = saved_model.save(serve(model, toy_tokenizer), str(tmp_path), weights=weights)
    assert all(variable.dtype != tf.bfloat16 for variable in model.variables)
    signature = tf.saved_model.load(path).signatures["serving_default"]
    response = compute_probabilities(signature)
    assert response.dtype == np.float32
    assert 0 < np.abs(response - expected).max() < 0.05

    matmuls = [
        operation
        for operation in list_operations(signature.graph)
        if operation.type == "MatMul" and operation.get_attr("T") == tf.bfloat16
    ]
    assert len(matmuls) == 4 * model.encoder.config.num_hidden_layers + 1  # and the pooler
    for matmul in matmuls:
        kernel = matmul.inputs[1].op
        while kernel.type in ("EnsureShape", "Identity"):
            kernel = kernel.inputs[0].op
        assert kernel.type == "ReadVariableOp"
    assert get_weights_size(tmp_path) < ratio * 4 * wide_model.count_params()
