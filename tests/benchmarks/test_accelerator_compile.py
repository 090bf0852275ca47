"""The compilers accept every step; the lowering, and the search for the largest batch."""

import importlib.util
import re

import pytest
import tensorflow as tf

from benchmarks.accelerator_compile import __main__ as accelerator_compile
from benchmarks.accelerator_compile import compiler
from benchmarks.accelerator_compile.__main__ import CompileSettings, Measurement
from bert_tf.config import BertConfig
from tests import scripts
from tests.errors import Message, raises_message

pytestmark = pytest.mark.large

PLUGINS = {"v5e": "libtpu", "h100": "jax_cuda12_plugin"}
TOY = BertConfig(
    50,
    hidden_size=8,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=24,
    max_position_embeddings=7,
    type_vocab_size=2,
)
# Without autotuning, a GPU's compiler rejects some matmuls of odd sizes.
B = 12
S = 4
P = 3


@pytest.mark.parametrize(
    ("chip", "flags"),
    [
        pytest.param(
            chip,
            flags,
            id=f"{chip}-{flags['workload']}",
            marks=pytest.mark.skipif(
                not all(importlib.util.find_spec(package) for package in ("jax", PLUGINS[chip])),
                reason=f"jax or {PLUGINS[chip]} is missing: see pyproject.toml",
            ),
        )
        for chip in PLUGINS
        for flags in (
            {"workload": "pretraining"},
            {"workload": "classifier", "optimizer": "lamb", "recompute_activations": True},
        )
    ],
)
def test_every_step_compiles(chip, flags, tmp_path):
    path = tmp_path / "bert_config.json"
    path.write_text(TOY.to_json())
    report = scripts.succeed(
        "benchmarks.accelerator_compile",
        bert_config_file=path,
        max_predictions_per_seq=P,
        batch_size=B,
        max_seq_length=S,
        chip=chip,
        **flags,
    )
    assert re.search(r"^memory: 0\.0\d of [\d.]+ GiB$", report, re.MULTILINE)
    assert ("time: " in report) == (chip == "v5e")


@pytest.mark.parametrize(("chip", "extra"), [("v5e", "tpu-check"), ("a100", "gpu-check")])
def test_missing_compiler(chip, extra, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    message = Message(
        "chip", "jax is not installed", f"run pip install -e '.[{extra}]'", value=chip
    )
    with raises_message(message):
        accelerator_compile.run(CompileSettings(chip=chip))


def test_operation_without_xla_kernel_is_named():
    step = tf.function(
        lambda x: tf.py_function(lambda y: y, [x], tf.float32), jit_compile=True, autograph=False
    )
    with pytest.raises(ValueError, match=r"^XLA rejects EagerPyFunc: .*EagerPyFunc"):
        compiler.lower(step, tf.ones([2, 3]), is_tpu=True)


def test_lowering_removes_what_only_a_cpu_has():
    count = tf.Variable(1.0)
    generator = tf.random.Generator.from_seed(1)

    @tf.function(jit_compile=True)
    def step(x):
        count.assign_add(1.0)
        seed = generator.make_seeds(1)[:, 0]
        return x + tf.cast(
            tf.random.stateless_uniform([5], seed, None, None, tf.uint32), tf.float32
        )

    for is_tpu, expected in ((True, ["PHILOX", "DEFAULT"]), (False, ["PHILOX", "PHILOX"])):
        module = compiler.lower(step, tf.zeros([5]), is_tpu)
        assert "mhlo.copy" not in module
        assert re.findall(r"rng_bit_generator .*algorithm = +(\w+)", module) == expected


@pytest.mark.parametrize(
    "message",
    [
        "RESOURCE_EXHAUSTED: Ran out of memory. Used 20.50G of 15.75G hbm. Exceeded by 4.75G.",
        "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO "
        "temporaries (20.50G) exceeds available HBM (15.75G).",
    ],
)
def test_insufficient_memory_differs_from_other_errors(message):
    with pytest.raises(compiler.OutOfMemoryError, match="the step needs 20") as caught:
        compiler.check_memory(message)
    assert caught.value.needed == 20.5 * 2**30
    compiler.check_memory("INVALID_ARGUMENT: an operation")


@pytest.mark.parametrize("largest", [32, 40, 163, 14336])
def test_the_largest_batch_is_found_after_few_tries(largest, monkeypatch):
    tried = []

    def compile_step(settings):
        tried.append(settings.batch_size)
        return Measurement(1, settings.batch_size <= largest)

    monkeypatch.setattr(accelerator_compile, "compile_step", compile_step)
    found = accelerator_compile.find_largest_batch(CompileSettings(batch_size=32))
    assert found == max(size for size in accelerator_compile.SIZES if size <= largest)
    assert len(tried) <= 6
