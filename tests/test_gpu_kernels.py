"""Training steps, predictions, and served models have a GPU kernel for each operation, and activations on the GPU."""

import dataclasses
import functools

import pytest
import tensorflow as tf

from bert_tf import losses, models
from bert_tf.config import BertConfig
from bert_tf.optimization import create_optimizer
from bert_tf.served_models import SERVED_MODELS
from bert_tf.served_models.base import check_features
from bert_tf.tasks.metadata import TaskMetadata
from bert_tf.tokenization import BertTokenizer
from bert_tf.tokenization.model_inputs import FEATURES
from bert_tf.tokenization.tokenizer import TokensWithOffsets
from run.arrays.prediction import Predictor
from run.pretraining.evaluation import PretrainingEvaluator
from run.serving.extraction import make_layer_model
from run.tasks import TASKS
from run.training.step import Trainer
from tests import gpu_kernels
from tests.encoders import make_encoder

pytestmark = pytest.mark.extra_large

B, S, P, C = 4, 9, 5, 3  # batch, sequence, predictions, choices
CONFIG = BertConfig(53, hidden_size=24, num_hidden_layers=1, num_attention_heads=4, intermediate_size=40,
                    max_position_embeddings=11, type_vocab_size=2)
DTYPES = ("float32", "mixed_float16", "mixed_bfloat16")
PRETRAINING = {
    "masked_lm_positions": tf.TensorSpec([B, P], tf.int32), "masked_lm_ids": tf.TensorSpec([B, P], tf.int32),
    "masked_lm_weights": tf.TensorSpec([B, P]), "next_sentence_labels": tf.TensorSpec([B, 1], tf.int32)}


def inputs(length, kind=""):
    """Returns the specs of the features that a model of a kind of task reads."""
    shape = [B, C, length] if kind == "multiple_choice" else [B, length]
    return {name: tf.TensorSpec(shape, tf.int32) for name in FEATURES}


def labels(*shape):
    return tf.TensorSpec(shape, tf.int32)


# Fine-tuning tasks: kind, number of labels, function of the sequence length that returns the label features, loss.
CLASSIFIER = ("classifier", 3, lambda length: {"label_ids": labels(B)}, losses.classification_loss)
REGRESSION = ("classifier", 0, lambda length: {"label_ids": tf.TensorSpec([B])}, losses.regression_loss)
MULTI_LABEL = ("classifier", 3, lambda length: {"label_ids": labels(B, 3)}, losses.multi_label_loss)
TAGGER = ("token_classifier", 3, lambda length: {"label_ids": labels(B, length)}, losses.token_classification_loss)
SPANS = ("span_labeler", 0, lambda length: dict.fromkeys(("start_positions", "end_positions"), labels(B, 1)),
         losses.create_span_loss(ignore_padding=True))
CHOICE = ("multiple_choice", 0, lambda length: {"label_ids": labels(B)}, losses.classification_loss)
TASK_OF = {kind: (kind, num_labels) for kind, num_labels, _, _ in (CLASSIFIER, TAGGER, SPANS, CHOICE)}
SERVED_AS = {**TASK_OF, "encoder": ("encoder", 0), "masked_lm": ("masked_lm", 0)}


def metadata(kind, num_labels):
    return TaskMetadata(kind, S, True, tuple("xyz"[:num_labels]), doc_stride=2, max_query_length=4)


def task_model(kind, num_labels, **options):
    return SERVED_MODELS[kind].create_model(make_encoder(CONFIG, **options), metadata(kind, num_labels))


def pretrainer(**options):
    return models.BertPretrainer(make_encoder(CONFIG, **options))


class NoUpdate:
    """An optimizer that changes nothing, because the update takes half of a trace and is the same for all tasks."""

    def __init__(self, dtype):
        self.iterations = tf.constant(1, tf.int64)
        self.loss_scale = tf.constant(2.0**15) if dtype == "mixed_float16" else None

    def build(self, variables):
        pass

    def apply_summed(self, gradients, variables, loss):
        return tf.math.is_finite(loss)


def training_step(strategy, make_model, optimizer, loss, features, accumulate_steps=1):
    """Returns the graph of a step as run.training.loop runs it."""
    with strategy.scope():
        model = make_model()
        optimizer.build(model.trainable_variables)
    trainer = Trainer(strategy, model, optimizer, loss, accumulate_steps=accumulate_steps)
    step = tf.function(lambda features: trainer.train_step(iter([features])), autograph=False)
    return step.get_concrete_function(features).graph


def check(graph, **options):
    """Asserts that a GPU can run the graph of a model; returns its operations."""
    operations = list(gpu_kernels.operations(graph))
    assert {"MatMul", "_FusedMatMul"} & {operation.type for operation in operations}
    on_host = gpu_kernels.without_kernel(operations)
    assert [name for name, operation in on_host.items() if not has_strings(operation)] == []  # Messages of assertions.
    assert gpu_kernels.in_host_memory(operations, **options) == {}
    return operations


@pytest.fixture
def one_device():
    return tf.distribute.OneDeviceStrategy("CPU:0")


@pytest.mark.parametrize(("dtype", "optimizer", "accumulate_steps", "options"), [
    ("float32", "adamw", 1, {"layers": "unpadded"}),
    ("float32", "lamb", 1, {}),
    ("mixed_float16", "adamw", 2, {"layers": "unpadded", "recompute": True}),
    ("mixed_float16", "adamw", 1, {"vocabulary_multiple": 8}),
    ("mixed_bfloat16", "adamw", 1, {"layers": "unpadded", "vocabulary_multiple": 8}),
    ("mixed_bfloat16", "adamw", 2, {"recompute": True}),
])
def test_pretraining_steps(dtype, optimizer, accumulate_steps, options, one_device):
    with one_device.scope():
        optimizer = create_optimizer(1e-3, 9, 2, optimizer, scale_loss=dtype == "mixed_float16")
    graph = training_step(one_device, functools.partial(pretrainer, dtype=dtype, **options), optimizer,
                          losses.pretraining_loss, {**inputs(S), **PRETRAINING}, accumulate_steps)
    check(graph)
    if accumulate_steps == 1:
        check(gpu_kernels.optimized(graph))


def test_step_on_two_devices(two_replicas):
    """Includes the sums over GPUs, which NCCL computes."""
    features = {name: tf.zeros([B, *spec.shape[1:]], spec.dtype) for name, spec in {**inputs(S), **PRETRAINING}.items()}
    features = two_replicas.experimental_distribute_values_from_function(lambda context: features)
    operations = check(training_step(
        two_replicas, pretrainer, NoUpdate("float32"), losses.pretraining_loss, features))
    assert "CollectiveReduceV2" in {operation.type for operation in operations}


@pytest.mark.parametrize("number", range(3), ids=DTYPES)
@pytest.mark.parametrize("tuned", [(CLASSIFIER, REGRESSION, MULTI_LABEL), (TAGGER,) * 3, (SPANS,) * 3, (CHOICE,) * 3],
                         ids=TASK_OF)
def test_fine_tuning_steps(tuned, number, one_device):
    kind, num_labels, more_features, loss = tuned[number]
    length = (None, S, None)[number]  # Dynamic if padding is removed.
    make_model = functools.partial(task_model, kind, num_labels, dtype=DTYPES[number],
                                   layers="padded" if length else "unpadded")
    features = {**inputs(length, kind), **more_features(length)}
    check(training_step(one_device, make_model, NoUpdate(DTYPES[number]), loss, features))


@pytest.mark.parametrize(("tuned", "has_bilstm"), [(CLASSIFIER, False), (CLASSIFIER, True), (TAGGER, True)])
def test_steps_with_causal_attention_and_a_bilstm(tuned, has_bilstm, one_device):
    kind, num_labels, more_features, loss = tuned
    config = dataclasses.replace(CONFIG, attention="causal", bilstm_head=has_bilstm)

    def make_model():
        encoder = make_encoder(config, layers="unpadded", last_where_read=True)
        return SERVED_MODELS[kind].create_model(encoder, metadata(kind, num_labels))

    check(training_step(one_device, make_model, NoUpdate("float32"), loss, {**inputs(None), **more_features(None)}))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", TASKS)
def test_predictions(kind, dtype):
    model = task_model(*TASK_OF[kind], dtype=dtype, layers="unpadded")
    predictor = Predictor(tf.distribute.get_strategy(), model)
    graph = predictor._run.get_concrete_function(inputs(None, kind)).graph
    check(graph)
    if dtype == "mixed_float16":
        check(gpu_kernels.optimized(graph))


@pytest.mark.parametrize("dtype", DTYPES)
def test_evaluations_of_pretraining(dtype):
    evaluator = PretrainingEvaluator(tf.distribute.get_strategy(), pretrainer(dtype=dtype, layers="unpadded"),
                                     "next_sentence")
    check(evaluator._score_all.get_concrete_function({**inputs(S), **PRETRAINING}).graph,
          only_activations=True)


def test_extraction():
    model = make_layer_model(make_encoder(CONFIG, layers="unpadded"), [0])
    predictor = Predictor(tf.distribute.get_strategy(), model)
    check(predictor._run.get_concrete_function(inputs(None)).graph)


class WordTokenizer(BertTokenizer):
    """A tokenizer with a tenth of the operations, which makes each word one token. The host runs tokenizers."""

    def tokenize(self, texts):
        words = tf.strings.split(texts)
        return words.with_values(tf.strings.length(words.values))

    def tokenize_with_offsets(self, texts):
        ids = self.tokenize(texts)
        return TokensWithOffsets(ids, *[tf.zeros_like(ids)] * 4)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n")
    return WordTokenizer(str(path))


@pytest.mark.parametrize("kind", SERVED_MODELS)
def test_served_models(kind, tokenizer):
    """Serves texts, and IDs of one length. The host processes texts, labels, and the layout of predictions."""
    kind, num_labels = SERVED_AS[kind]
    from_texts, from_ids = (SERVED_MODELS[kind](
        task_model(kind, num_labels, layers=layers), tokenizer, metadata(kind, num_labels),
        static_length=layers == "padded") for layers in ("unpadded", "padded"))
    texts = {name: tf.TensorSpec(shape, tf.string) for name, shape in from_texts.text_inputs.items()}
    features = dict.fromkeys(FEATURES, tf.TensorSpec(from_ids.ids_shape, tf.int32))
    for operations in (operations_of(lambda texts: from_texts.answer_texts(**texts), texts),
                       operations_of(lambda ids: from_ids.answer(check_features(ids, CONFIG)), features)):
        assert "MatMul" in {operation.type for operation in operations}
        assert gpu_kernels.in_host_memory(operations, only_activations=True) == {}
        on_host = gpu_kernels.without_kernel(operations).values()
        assert {operation.type for operation in on_host if has_floats(operation)} <= {"RaggedTensorToTensor"}
        if operations[0].graph.inputs[0].dtype != tf.string:
            assert all(has_strings(operation) for operation in on_host)


def has_floats(operation):
    return any(tensor.dtype.is_floating for tensor in (*operation.inputs, *operation.outputs))


def has_strings(operation):
    return any(tensor.dtype == tf.string for tensor in (*operation.inputs, *operation.outputs))


def operations_of(function, spec):
    return list(gpu_kernels.operations(tf.function(function, autograph=False).get_concrete_function(spec).graph))


# Tests of gpu_kernels.

ROWS = tf.TensorSpec([None, 24], tf.bfloat16)


@pytest.mark.parametrize(("function", "found"), [
    (lambda x: tf.gradients(tf.function(lambda y: y**2)(x), x), []),
    # In the body of a loop; with an attribute that is a string.
    (lambda x: tf.while_loop(lambda y: True, lambda y: [tf.math.multiply_no_nan(y, y)], [x]), ["MulNoNan T=bfloat16"]),
    (lambda x: tf.gather_nd(x, [[1]], bad_indices_policy="ERROR"),
     ["GatherNd Tindices=int32, Tparams=bfloat16, bad_indices_policy=b'ERROR'"]),
])
def test_operations_without_a_kernel_are_found(function, found):
    assert list(gpu_kernels.without_kernel(operations_of(function, ROWS))) == found


def test_copies_to_the_host_are_found():
    """A GPU has int32 numbers from a Cast in its memory, and slices int32 numbers on the host."""
    operations = operations_of(lambda mask: tf.cast(tf.where(mask), tf.int32)[:, 0], tf.TensorSpec([24], tf.bool))
    assert list(gpu_kernels.in_host_memory(operations)) == ["Cast to StridedSlice T=int32: input int32 (None, 1)"]

    def check(x):
        tf.raw_ops.Assert(condition=True, data=[-x, x[0, 0]])

    operations = operations_of(check, ROWS)
    assert list(gpu_kernels.in_host_memory(operations)) == ["Neg to Assert : data bfloat16 (None, 24)"]


def test_graph_is_optimized():
    """TensorFlow's graph optimizer replaces x * x by a Square of x."""
    graph = tf.function(lambda x: x * x).get_concrete_function(ROWS).graph
    assert "Square" in {operation.type for operation in gpu_kernels.operations(gpu_kernels.optimized(graph))}
