"""The TPU compiler takes the training step; and what stands between it and TensorFlow."""

import importlib.util
import re

import pytest
import tensorflow as tf

from benchmarks.tpu_compile import compiler, estimates
from benchmarks.tpu_compile.__main__ import measure
from benchmarks.tpu_compile.settings import TpuCompileSettings
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.layers.basic import Dropout
from bert_tf.layers.padding import RealTokens
from tests import scripts

TPU_COMPILER = all(importlib.util.find_spec(package) for package in ("jax", "libtpu"))
TOY = BertConfig(50, hidden_size=8, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24,
                 max_position_embeddings=7, type_vocab_size=2)
B, S, P = 3, 5, 4


@pytest.mark.skipif(not TPU_COMPILER, reason="jax and libtpu are not installed: pip install -e '.[tpu-check]'")
def test_the_training_step_compiles_for_a_tpu(tmp_path):
    path = tmp_path / "bert_config.json"
    path.write_text(TOY.to_json())
    report = scripts.succeed("benchmarks.tpu_compile", bert_config_file=path, batch_size=B, max_seq_length=S,
                             max_predictions_per_seq=P)
    assert report.count("operations refused: none") == 2
    for lookup, section in zip(("gather", "one_hot"), report.split("words looked up by ")[1:], strict=True):
        assert section.startswith(lookup)
        arguments, updated_elsewhere, _, _, peak = map(float, re.findall(r" ([\d.]+) MiB", section))
        assert peak > arguments >= 3 * 4 * TOY.num_parameters / 2**20  # float32 weights and two moments
        assert updated_elsewhere < 0.01
        compiled, counted = map(float, re.findall(r" ([\d.]+) G\b", section))
        assert compiled >= counted
        assert "AdamW" in section


@pytest.mark.skipif(not TPU_COMPILER, reason="jax and libtpu are not installed: pip install -e '.[tpu-check]'")
def test_a_topology_that_does_not_exist():
    assert "--topology=v5e:1x1: " in scripts.fail("benchmarks.tpu_compile", topology="v5e:1x1")


@pytest.mark.skipif(TPU_COMPILER, reason="jax and libtpu are installed")
def test_without_the_compiler():
    with pytest.raises(InputError, match=re.escape("is not installed: pip install -e '.[tpu-check]'")):
        measure(TpuCompileSettings())


@pytest.mark.parametrize(("values", "message"), [
    ({"topology": "v4:2x2x1"}, "`topology`=v4:2x2x1: must begin with v5e or v6e"),
    ({"lookup": ("gather", "hash")}, "`lookup`=hash: it must be one of gather, one_hot"),
])
def test_another_kind_of_chip_or_of_look_up(values, message):
    with pytest.raises(InputError, match=message):
        TpuCompileSettings(**values)


def drop_out_real_tokens(mask):
    return Dropout(0.1)(RealTokens(mask).pack(tf.ones([6, 4])), seed=tf.constant([1, 2]))


@pytest.mark.parametrize(("function", "refused"), [
    (lambda x: tf.py_function(lambda y: y, [x], tf.float32), "EagerPyFunc"),
    (drop_out_real_tokens, "StatelessRandomUniformFullIntV2"),
])
def test_an_operation_that_xla_refuses_is_named(function, refused):
    step = tf.function(function, jit_compile=True, autograph=False)
    with pytest.raises(ValueError, match=f"^XLA refuses {refused}: .*{refused}"):
        compiler.lower(step, tf.ones([2, 3]))


def test_lowering_leaves_nothing_of_the_cpu_in():
    count = tf.Variable(1.0)
    generator = tf.random.Generator.from_seed(1)

    @tf.function(jit_compile=True)
    def step(x):
        count.assign_add(1.0)
        seed = generator.make_seeds(1)[:, 0]
        return x + tf.cast(tf.random.stateless_uniform([5], seed, None, None, tf.uint32), tf.float32)

    module = compiler.lower(step, tf.zeros([5]))
    assert "mhlo.copy" not in module
    assert re.findall(r"rng_bit_generator .*algorithm = +(\w+)", module) == ["PHILOX", "DEFAULT"]


def test_flops_by_hand():
    layers = 2 * (B * S) * (8 * 8 * 8 + 4 * 8 * 24 + 4 * 5 * 8)  # projections, feed-forward, scores and contexts
    heads = 2 * (B * P) * 8 * (8 + 50)
    assert estimates.training_flops(TOY, B, S, P, use_one_hot_embeddings=False) == 3 * (layers + heads)
    assert estimates.training_flops(TOY, B, S, P, use_one_hot_embeddings=True) == (
        3 * (layers + heads) + 2 * 2 * (B * S) * 50 * 8)


def test_cycles_are_summed_over_layers():
    compiled = """
  %fusion.1 = f32[2] fusion(%a), metadata={op_name="bert/layer_0/MatMul_1"}, backend_config={"estimated_cycles":"20"}
  %fusion.2 = f32[2] fusion(%b), metadata={op_name="bert/layer_11/MatMul"}, backend_config={"estimated_cycles":"3"}
  %broadcast.7 = f32[2] broadcast(%c), backend_config={"estimated_cycles":"100"}
  %add.1 = f32[2] add(%d, %e), metadata={op_name="bert/add"}
"""
    assert estimates.estimated_cycles(compiled) == {"bert/layer/MatMul": 23, "broadcast": 100}
