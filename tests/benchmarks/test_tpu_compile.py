"""The TPU compiler accepts every step; estimates from its output; the search for the largest batch; and the table."""

import dataclasses
import importlib.util
import json
import re

import pytest
import tensorflow as tf

from benchmarks.tpu_compile import compiler, estimates, largest_batch, layout, steps, table
from benchmarks.tpu_compile.__main__ import measure
from benchmarks.tpu_compile.estimates import Estimate
from benchmarks.tpu_compile.measurement import Measurement
from benchmarks.tpu_compile.plans import PLANS, Plan
from benchmarks.tpu_compile.settings import Chip, TpuCompileSettings
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.fast.layout import UnpaddedLayout
from bert_tf.layers.basic import SeededDropout
from tests import scripts

HAS_TPU_COMPILER = all(importlib.util.find_spec(package) for package in ("jax", "libtpu"))
needs_tpu_compiler = pytest.mark.skipif(
    not HAS_TPU_COMPILER, reason="jax or libtpu is missing: run `pip install -e '.[tpu-check]'`")
TOY = BertConfig(50, hidden_size=8, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24,
                 max_position_embeddings=7, type_vocab_size=2)
B, S, P = 3, 5, 4
LAYER_FLOPS = 2 * (B * S) * (8 * 8 * 8 + 4 * 8 * 24 + 4 * 5 * 8)  # Projections, feed-forward, scores and contexts.


def compile_toy(folder, **flags):
    """Runs the benchmark with a toy model; returns the section of its report for each kind of embedding lookup."""
    path = folder / "bert_config.json"
    path.write_text(TOY.to_json())
    report = scripts.succeed("benchmarks.tpu_compile", bert_config_file=path, batch_size=B, max_seq_length=S,
                             max_predictions_per_seq=P, **flags)
    sections = report.split("rejected operations: none")[1:]
    for section in sections:
        compiled, counted = map(float, re.findall(r" ([\d.]+) G\b", section))
        assert compiled >= counted
    return sections


@needs_tpu_compiler
def test_training_step_compiles_for_a_tpu(tmp_path):
    sections = compile_toy(tmp_path)
    assert len(sections) == 2
    for section in sections:
        arguments, updated_elsewhere, _, _, peak = map(float, re.findall(r" ([\d.]+) MiB", section))
        assert peak > arguments >= 3 * 4 * TOY.num_parameters / 2**20  # Float32 weights and two moments.
        assert updated_elsewhere < 0.01
        assert "AdamW" in section


@needs_tpu_compiler
@pytest.mark.parametrize("flags", [
    {"workload": "pretraining", "optimizer": "lamb", "accumulate_steps": 3, "recompute_activations": True},
    {"workload": "classifier"}, {"workload": "served"}, {"workload": "peer"}],
    ids=lambda flags: flags["workload"])
def test_every_workload_compiles_for_a_tpu(flags, tmp_path):
    assert len(compile_toy(tmp_path, lookup="gather", **flags)) == 1


@needs_tpu_compiler
def test_unknown_topology():
    assert "--topology=v5e:1x1: " in scripts.fail("benchmarks.tpu_compile", topology="v5e:1x1")


@pytest.mark.skipif(HAS_TPU_COMPILER, reason="jax and libtpu are installed")
def test_missing_compiler():
    with pytest.raises(InputError, match=re.escape("is not installed: pip install -e '.[tpu-check]'")):
        measure(TpuCompileSettings())


@pytest.mark.parametrize(("values", "message"), [
    ({"topology": "v4:2x2x1"}, "`topology`=v4:2x2x1: "),
    ({"lookup": ("gather", "hash")}, "`lookup`=hash: "),
    ({"batch_size": 8, "accumulate_steps": 3}, "`batch_size`=8: .*`accumulate_steps`"),
    ({"workload": "peer", "recompute_activations": True}, "`workload`=peer: "),
])
def test_invalid_settings(values, message):
    with pytest.raises(InputError, match=message):
        TpuCompileSettings(**values)


def drop_out_tokens(mask):
    return SeededDropout(0.1)(UnpaddedLayout(mask).tokens(tf.ones([2, 3, 4])), seed=tf.constant([1, 2]))


@pytest.mark.parametrize(("function", "operation"), [
    (lambda x: tf.py_function(lambda y: y, [x], tf.float32), "EagerPyFunc"),
    (drop_out_tokens, "StatelessRandomUniformFullIntV2"),
])
def test_operation_without_xla_kernel_is_named(function, operation):
    step = tf.function(function, jit_compile=True, autograph=False)
    with pytest.raises(ValueError, match=f"^XLA rejects {operation}: .*{operation}"):
        compiler.lower(step, tf.ones([2, 3]))


def test_lowering_removes_what_only_a_cpu_has():
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


@pytest.mark.parametrize("message", [
    "RESOURCE_EXHAUSTED: Ran out of memory. Used 20.50G of 15.75G hbm. Exceeded by 4.75G.",
    "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO temporaries (20.50G) exceeds "
    "available HBM (15.75G).",
])
def test_insufficient_memory_differs_from_other_errors(message):
    with pytest.raises(compiler.OutOfMemoryError, match="the step needs 20") as caught:
        compiler.check_memory(message)
    assert (caught.value.needed, caught.value.capacity) == (20.5 * 2**30, 15.75 * 2**30)
    compiler.check_memory("INVALID_ARGUMENT: an operation")


# Estimates.

@pytest.mark.parametrize(("workload", "lookup", "expected"), [
    ("pretraining", "gather", 3 * (LAYER_FLOPS + 2 * (B * P) * 8 * (8 + 50))),
    ("pretraining", "one_hot", 3 * (LAYER_FLOPS + 2 * (B * P) * 8 * (8 + 50)) + 2 * 2 * (B * S) * 50 * 8),
    ("classifier", "gather", 3 * LAYER_FLOPS),
    ("served", "gather", LAYER_FLOPS),
])
def test_flops_by_hand(workload, lookup, expected):
    settings = TpuCompileSettings(workload=workload, batch_size=B, max_seq_length=S, max_predictions_per_seq=P)
    assert estimates.needed_flops(settings, TOY, lookup) == expected


LAYERS = """
  %fusion.1 = f32[2] fusion(%a), metadata={op_name="bert/layer_0/MatMul_1"}, backend_config={"estimated_cycles":"20"}
  %fusion.2 = f32[2] fusion(%b), metadata={op_name="bert/layer_11/MatMul"}, backend_config={"estimated_cycles":"3"}
  %broadcast.7 = f32[2] broadcast(%c), backend_config={"estimated_cycles":"100"}
  %add.1 = f32[2] add(%d, %e), metadata={op_name="bert/add"}
"""
LOOP = """
%inner (p: f32[2]) -> f32[2] {
  %fusion.4 = f32[2] fusion(%p), metadata={op_name="deep"}, backend_config={"estimated_cycles":"7"}
}

%body.3 (p: f32[2]) -> f32[2] {
  %fusion.1 = f32[2] fusion(%p), calls=%fused, metadata={op_name="in"}, backend_config={"estimated_cycles":"20"}
  %call.2 = f32[2] call(%p), to_apply=%inner
}

%condition.3 (p: (s32[], f32[2])) -> pred[] {
  %constant.7 = s32[]{:T(128)} constant(4), metadata={op_name="call"}
  %count = s32[]{:T(128)} get-tuple-element(%p), index=0
  ROOT %Less = pred[]{:T(512)} compare(%count, %constant.7), direction=LT
}

ENTRY %main (a: f32[2]) -> f32[2] {
  %while.1 = f32[2] while(%a), condition=%condition.3, body=%body.3, backend_config={"known_trip_count":{"n":"5"}}
  ROOT %fusion.2 = f32[2] fusion(%b), metadata={op_name="out"}, backend_config={"estimated_cycles":"3"}
}
"""
LOOP_WITH_CONDITION = LOOP.replace('"known_trip_count":{"n":"5"}', "")


@pytest.mark.parametrize(("compiled", "expected"), [
    (LAYERS, {"bert/layer/MatMul": 23, "broadcast": 100}),
    (LOOP, {"in": 100, "deep": 35, "out": 3}),
    (LOOP_WITH_CONDITION, {"in": 80, "deep": 28, "out": 3}),
    (LOOP_WITH_CONDITION.replace("direction=LT", "direction=GT"), {"in": 20, "deep": 7, "out": 3}),  # Unknown rounds.
], ids=["layers are summed", "known trip count", "trip count from the condition", "other condition"])
def test_cycles(compiled, expected):
    assert estimates.estimated_cycles(compiled) == expected


def test_step_of_the_peer_is_traced_with_the_same_features():
    settings = TpuCompileSettings(workload="peer", batch_size=B, max_seq_length=S, max_predictions_per_seq=P)
    step, features = steps.traced_step(settings, TOY, "gather")
    assert {name: tuple(value.shape) for name, value in features.items()} == {
        "input_word_ids": (B, S), "input_mask": (B, S), "input_type_ids": (B, S), "masked_lm_positions": (B, P),
        "masked_lm_ids": (B, P), "masked_lm_weights": (B, P), "next_sentence_labels": (B, 1)}
    captured = [tensor.shape for tensor in step.get_concrete_function(features).captured_inputs]
    assert len(captured) > 3 * 30  # Each variable and two moments.


# The largest batch.

def test_batch_sizes_to_try():
    assert largest_batch.batch_sizes(40) == [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40]


@pytest.mark.parametrize(("largest", "fixed"), [
    (160, 3.0), (163, 3.0), (32, 3.0), (8, 3.0), (1, 9.0), (6, 0.0), (8192, 1.0)])
@pytest.mark.parametrize("first", [1, 32, 8192])
def test_largest_batch_after_few_tries(largest, fixed, first):
    tried = []

    def try_batch(batch):
        tried.append(batch)
        return fixed + (16 - fixed) * batch / largest, batch <= largest

    assert largest_batch.find(try_batch, first, 16.0) == max(largest_batch.batch_sizes(largest))
    assert len(tried) == len(set(tried)) <= 5, tried


@pytest.mark.parametrize(("first", "tries", "memory", "largest", "expected"), [
    (32, 2, lambda batch: 3 + 0.1 * batch, 130, 128),  # Half of 6.2 is assumed to be fixed.
    (8, 1, lambda batch: 17.0 + batch, 0, None),
    (8, None, lambda batch: 17.0 + batch, 0, None),
    # The compiler may recompute activations if memory is insufficient, and so use less than a line predicts.
    (4, None, lambda batch: min(1.0 + batch, 15.5), 28, 28),
])
def test_largest_batch_with_other_memory(first, tries, memory, largest, expected):
    assert largest_batch.find(lambda batch: (memory(batch), batch <= largest), first, 16.0, tries=tries) == expected


# The table.

CHIP = Chip(memory=2**34, peak=1e12, clock=1e9)
GIB = 2**30


def make_measurement(gib, fits=True):
    """Returns a Measurement of a step of 4 ms with 2 GFLOPs, half of them in matmuls."""
    estimate = Estimate(GIB, 0, round((gib - 1) * GIB), 0, 2e9, 1e9, {"MatMul": 3_000_000, "add": 1_000_000})
    return Measurement(estimate if fits else None, round(gib * GIB), 1.0, 2.0)


def test_table_is_stored_and_resumed(tmp_path, capsys):
    plans = (Plan("pretraining", "base", 128, (8,)), Plan("peer", "base", 128, (8,), search=False),
             Plan("served", "base", 128, (1,), search=False))
    settings = TpuCompileSettings(table=True, table_dir=str(tmp_path))
    compiled = []

    def compile_row(row):
        compiled.append((row.workload, row.batch_size))
        return make_measurement(4 + row.batch_size, row.batch_size <= 11)

    table.run(dataclasses.replace(settings, only="pretraining", tries=1), plans, compile_row)
    assert compiled == [("pretraining", 8)]
    table.run(dataclasses.replace(settings, only="pretraining"), plans, compile_row)
    assert sorted(compiled) == [("pretraining", 8), ("pretraining", 10), ("pretraining", 12)]
    stored = json.loads((tmp_path / "pretraining_base_128_adamw_batch8_v5e_2x2.json").read_text())
    assert "tensorflow" in stored["versions"]
    table.run(settings, plans, compile_row)
    assert sorted(compiled[3:]) == [("peer", 8), ("served", 1)]
    capsys.readouterr()
    table.run(dataclasses.replace(settings, format="markdown"), plans, pytest.fail)
    printed = capsys.readouterr().out
    for row in (r"10 \| 14\.00 \| 50% \| ", r"12 \| 16\.00: too large \|", r"8 \| tf-models-official \| 12\.00 \|"):
        assert re.search(rf"^\| Base, 128: pre-training \| {row}", printed, re.MULTILINE)


def test_stored_row_with_other_settings_is_ignored(tmp_path):
    settings = TpuCompileSettings(table_dir=str(tmp_path))
    plan = Plan("pretraining", "base", 128, (8,))
    row = plan.settings(settings, 8)
    table.keep_row(plan, row, make_measurement(3))
    assert table.read_row(plan, row) == make_measurement(3)
    assert table.read_row(plan, dataclasses.replace(row, max_predictions_per_seq=21)) is None


def test_figures_of_a_row():
    assert layout.figures(make_measurement(3.5), 8, CHIP) == ["3.50", "50%", "4.0", "2,000", "25%"]
    assert layout.figures(make_measurement(17.5, fits=False), 8, CHIP) == ["17.50: too large", "", "", "", ""]


@pytest.mark.parametrize(("fitting", "too_large", "expected"), [
    ((8, 10), (12,), "10"), ((8, 10), (14,), "at least 10; extrapolated: 12"), ((8,), (), "at least 8"),
    ((8, 16), (), "at least 16; extrapolated: 28"),  # Half a GiB for each example: 15.75 allows 29.5.
])
def test_largest_batch_is_certain_if_the_next_size_was_tried(fitting, too_large, expected):
    measurements = {batch: make_measurement(1 + batch / 2, batch in fitting) for batch in (*fitting, *too_large)}
    assert layout.largest(measurements, CHIP) == expected


def test_columns_are_aligned():
    assert layout.aligned([("a", "b"), ("long", "100")]) == ["a       b", "long  100"]


def test_plans_have_unique_names_and_valid_settings():
    assert len({plan.name for plan in PLANS}) == len(PLANS)
    for plan in PLANS:
        for batch_size in plan.batch_sizes:
            plan.settings(TpuCompileSettings(), batch_size)
