"""Training steps and served models have a GPU kernel for each operation.

Their activations are in the memory of the GPU. TensorFlow's Linux wheel registers its CUDA kernels
even if there is no GPU. An operation without a GPU kernel runs on the host. TensorFlow copies its
inputs and outputs, and arguments that a kernel requires in host memory, without a message, and the
host waits. Texts, labels, and the bookkeeping of ragged tensors may stay on the host.
"""

import dataclasses
import functools

import pytest
import tensorflow as tf
from tensorflow.python.framework import kernels, op_def_registry

from bert_tf import losses, models
from bert_tf.config import BertConfig
from bert_tf.features import FEATURES
from bert_tf.optimization import create_optimizer
from bert_tf.tasks import SERVABLES
from bert_tf.tasks.metadata import TaskMetadata
from bert_tf.tasks.servable import check_features
from bert_tf.tokenization import BertTokenizer
from run.training.step import Trainer
from tests.encoders import make_encoder
from tests.graphs import list_operations

pytestmark = pytest.mark.extra_large

# TensorFlow prefers a kernel of the device to a kernel for any device.
DEVICES = ("GPU", "DEFAULT")
SMALL = 16  # Elements of a shape, seed, or learning rate, which take a few microseconds to copy.

# Batch size, sequence length, predictions per sequence, and choices.
B = 4
S = 9
P = 5
C = 3
CONFIG = BertConfig(
    53,
    hidden_size=24,
    num_hidden_layers=1,
    num_attention_heads=4,
    intermediate_size=40,
    max_position_embeddings=11,
    type_vocab_size=2,
)
DTYPES = ("float32", "mixed_float16", "mixed_bfloat16")
PRETRAINING = {
    "masked_lm_positions": tf.TensorSpec([B, P], tf.int32),
    "masked_lm_ids": tf.TensorSpec([B, P], tf.int32),
    "masked_lm_weights": tf.TensorSpec([B, P]),
    "next_sentence_labels": tf.TensorSpec([B, 1], tf.int32),
}


def inputs(length, kind=""):
    """Returns the specs of the features that a model of a kind of task reads."""
    shape = [B, C, length] if kind == "multiple_choice" else [B, length]
    return {name: tf.TensorSpec(shape, tf.int32) for name in FEATURES}


def labels(*shape):
    return tf.TensorSpec(shape, tf.int32)


# Fine-tuning tasks: kind, number of labels, function of the sequence length that returns the label
# features, loss.
CLASSIFIER = ("classifier", 3, lambda length: {"label_ids": labels(B)}, losses.classification_loss)
REGRESSION = (
    "classifier",
    0,
    lambda length: {"label_ids": tf.TensorSpec([B])},
    losses.regression_loss,
)
MULTI_LABEL = ("classifier", 3, lambda length: {"label_ids": labels(B, 3)}, losses.multi_label_loss)
TAGGER = (
    "token_classifier",
    3,
    lambda length: {"label_ids": labels(B, length)},
    losses.token_classification_loss,
)
SPANS = (
    "span_labeler",
    0,
    lambda length: dict.fromkeys(("start_positions", "end_positions"), labels(B, 1)),
    losses.create_span_loss(only_tokens=True),
)
CHOICE = ("multiple_choice", 0, lambda length: {"label_ids": labels(B)}, losses.classification_loss)
TASK_OF = {
    kind: (kind, num_labels) for kind, num_labels, _, _ in (CLASSIFIER, TAGGER, SPANS, CHOICE)
}
SERVED_AS = {**TASK_OF, "encoder": ("encoder", 0), "masked_lm": ("masked_lm", 0)}


def metadata(kind, num_labels):
    return TaskMetadata(kind, S, True, tuple("xyz"[:num_labels]), doc_stride=2, max_query_length=4)


def task_model(kind, num_labels, config=CONFIG, **options):
    return SERVABLES[kind].create_model(make_encoder(config, **options), metadata(kind, num_labels))


def pretrainer(**options):
    return models.BertPretrainer(make_encoder(CONFIG, **options))


def training_step(
    strategy, make_model, loss, features, *, dtype="float32", optimizer="adamw", accumulate_steps=1
):
    """Returns the operations of a step as run.training.loop runs it."""
    with strategy.scope():
        model = make_model()
        optimizer = create_optimizer(1e-3, 9, 2, optimizer, scale_loss=dtype == "mixed_float16")
        optimizer.build(model.trainable_variables)
    trainer = Trainer(strategy, model, optimizer, loss, accumulate_steps=accumulate_steps)
    operations = trace(lambda features: trainer.train_step(iter([features])), features)
    assert "MatMul" in {operation.type for operation in operations}
    return operations


def trace(function, *specs):
    """Returns the tf.Operations of a function and of those that it calls.

    These are loop bodies, branches, and gradients.
    """
    return list_operations(
        tf.function(function, autograph=False).get_concrete_function(*specs).graph
    )


def find_kernel(operation):
    """Returns the KernelDef with which a GPU runs a tf.Operation, or None."""
    return next(
        (
            kernel
            for kernel in list_kernels(operation.type)
            if all(
                allows(constraint.allowed_values.list, operation.get_attr(constraint.name))
                for constraint in kernel.constraint
            )
        ),
        None,
    )


@functools.cache
def list_kernels(kind):
    """Returns the KernelDefs of a type of operation for a GPU.

    They are in the order in which TensorFlow prefers them.
    """
    found = [
        kernel
        for kernel in kernels.get_registered_kernels_for_op(kind).kernel
        if kernel.device_type in DEVICES and not kernel.label
    ]
    return sorted(found, key=lambda kernel: (DEVICES.index(kernel.device_type), -kernel.priority))


def allows(allowed, value):
    """Returns whether a kernel's constraint, an AttrValue.ListValue, allows a value.

    The value is that of an attribute of an operation.
    """
    values = {*map(tf.as_dtype, allowed.type), *allowed.s, *allowed.i, *allowed.b}
    return values.issuperset(value) if isinstance(value, list) else value in values


def get_tensors(operation):
    """Yields (name of the argument, tensor) for the inputs and outputs of an operation."""
    definition = op_def_registry.get(operation.type)
    for arguments, tensors in (
        (definition.input_arg, operation.inputs),
        (definition.output_arg, operation.outputs),
    ):
        tensors = iter(tensors)
        for argument in arguments:
            count = 1
            if argument.number_attr:
                count = operation.get_attr(argument.number_attr)
            elif argument.type_list_attr:
                count = len(operation.get_attr(argument.type_list_attr))
            for _ in range(count):
                yield argument.name, next(tensors)


def find_problems(operations, on_host=()):
    """Returns the operations without a GPU kernel, and the activations in host memory.

    A GPU would copy these to the host.

    Args:
      operations: tf.Operations. Those with strings belong to the host.
      on_host: Collection of str. Other types of operations that the host may run.
    """
    problems = set()
    for operation in operations:
        kernel = find_kernel(operation)
        types = ", ".join(tensor.dtype.name for tensor in (*operation.inputs, *operation.outputs))
        if kernel is None and operation.type not in on_host and "string" not in types:
            problems.add(f"{operation.type}: no kernel for {types}")
        for name, tensor in get_tensors(operation) if kernel else ():
            size = tensor.shape.num_elements()
            # Unsigned integers are random bits.
            is_activation = tensor.dtype.is_floating or tensor.dtype.is_unsigned
            if name in kernel.host_memory_arg and is_activation and (size is None or size > SMALL):
                problems.add(f"{operation.type}: {name} in host memory")
    return problems


@pytest.fixture
def one_device():
    return tf.distribute.OneDeviceStrategy("CPU:0")


@dataclasses.dataclass(frozen=True)
class PretrainingStep:
    """Settings of a step of pre-training.

    Attributes:
      dtype: str. Policy of the layers.
      optimizer: str. Name of the optimizer.
      accumulate_steps: int. Number of batches per update.
      options: Dict of options of the encoder.
    """

    dtype: str
    optimizer: str
    accumulate_steps: int
    options: dict


@pytest.mark.parametrize(
    "case",
    [
        PretrainingStep(
            dtype="float32", optimizer="adamw", accumulate_steps=1, options={"remove_padding": True}
        ),
        PretrainingStep(dtype="float32", optimizer="lamb", accumulate_steps=1, options={}),
        PretrainingStep(
            dtype="mixed_float16",
            optimizer="adamw",
            accumulate_steps=2,
            options={"remove_padding": True, "recompute": True},
        ),
        PretrainingStep(
            dtype="mixed_float16",
            optimizer="adamw",
            accumulate_steps=1,
            options={"vocabulary_multiple": 8},
        ),
        PretrainingStep(
            dtype="mixed_bfloat16",
            optimizer="adamw",
            accumulate_steps=1,
            options={"remove_padding": True, "vocabulary_multiple": 8},
        ),
    ],
)
def test_pretraining_steps(one_device, case):
    operations = training_step(
        one_device,
        functools.partial(pretrainer, dtype=case.dtype, **case.options),
        losses.pretraining_loss,
        {**inputs(S), **PRETRAINING},
        dtype=case.dtype,
        optimizer=case.optimizer,
        accumulate_steps=case.accumulate_steps,
    )
    assert find_problems(operations) == set()


def test_step_on_two_devices(two_replicas):
    """The step includes the sums over GPUs, which NCCL computes."""
    features = {
        name: tf.zeros([B, *spec.shape[1:]], spec.dtype)
        for name, spec in {**inputs(S), **PRETRAINING}.items()
    }
    features = two_replicas.experimental_distribute_values_from_function(lambda context: features)
    operations = training_step(two_replicas, pretrainer, losses.pretraining_loss, features)
    assert find_problems(operations) == set()
    assert "CollectiveReduceV2" in {operation.type for operation in operations}


@pytest.mark.parametrize("number", range(3), ids=DTYPES)
@pytest.mark.parametrize(
    "tuned",
    [(CLASSIFIER, REGRESSION, MULTI_LABEL), (TAGGER,) * 3, (SPANS,) * 3, (CHOICE,) * 3],
    ids=TASK_OF,
)
def test_fine_tuning_steps(tuned, number, one_device):
    kind, num_labels, more_features, loss = tuned[number]
    length = (None, S, None)[number]  # Dynamic if padding is removed.
    make_model = functools.partial(
        task_model,
        kind,
        num_labels,
        dtype=DTYPES[number],
        remove_padding=not length,
    )
    features = {**inputs(length, kind), **more_features(length)}
    assert (
        find_problems(training_step(one_device, make_model, loss, features, dtype=DTYPES[number]))
        == set()
    )


@pytest.mark.parametrize(
    ("tuned", "has_bilstm"), [(CLASSIFIER, False), (CLASSIFIER, True), (TAGGER, True)]
)
def test_steps_with_causal_attention_and_a_bilstm(tuned, has_bilstm, one_device):
    kind, num_labels, more_features, loss = tuned
    config = dataclasses.replace(CONFIG, attention="causal", bilstm_head=has_bilstm)
    make_model = functools.partial(
        task_model, kind, num_labels, config, remove_padding=True, last_where_read=True
    )
    features = {**inputs(None), **more_features(None)}
    assert find_problems(training_step(one_device, make_model, loss, features)) == set()


@pytest.mark.parametrize("kind", SERVABLES)
def test_served_models(kind, tmp_path):
    """The models serve texts, and IDs of one length.

    The host processes texts, labels, and the layout of predictions.
    """
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n")
    tokenizer = BertTokenizer(str(tmp_path / "vocab.txt"))
    kind, num_labels = SERVED_AS[kind]
    from_texts, from_ids = (
        SERVABLES[kind](
            task_model(kind, num_labels, remove_padding=not is_static),
            tokenizer,
            metadata(kind, num_labels),
            static_length=is_static,
        )
        for is_static in (False, True)
    )
    texts = {
        name: tf.TensorSpec(shape, tf.string) for name, shape in from_texts.text_inputs.items()
    }
    with_floats = [
        operation
        for operation in trace(lambda texts: from_texts.answer_texts(**texts), texts)
        if any(tensor.dtype.is_floating for tensor in (*operation.inputs, *operation.outputs))
    ]
    assert "MatMul" in {operation.type for operation in with_floats}
    assert find_problems(with_floats, on_host={"RaggedTensorToTensor"}) == set()
    features = dict.fromkeys(FEATURES, tf.TensorSpec(from_ids.ids_shape, tf.int32))
    assert (
        find_problems(trace(lambda ids: from_ids.answer(check_features(ids, CONFIG)), features))
        == set()
    )
