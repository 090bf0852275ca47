"""The TPU compiler takes every step; what stands between it and TensorFlow; and the table of what fits."""

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
@pytest.mark.parametrize("flags", [
    {"workload": "pretraining", "optimizer": "lamb", "accumulate_steps": 3, "recompute_activations": True},
    {"workload": "classifier"}, {"workload": "served"}, {"workload": "peer"}],
    ids=lambda flags: flags["workload"])
def test_every_workload_compiles_for_a_tpu(flags, tmp_path):
    path = tmp_path / "bert_config.json"
    path.write_text(TOY.to_json())
    report = scripts.succeed("benchmarks.tpu_compile", bert_config_file=path, batch_size=B, max_seq_length=S,
                             max_predictions_per_seq=P, lookup="gather", **flags)
    assert report.count("operations refused: none") == 1
    compiled, counted = map(float, re.findall(r" ([\d.]+) G\b", report))
    assert compiled >= counted


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
    ({"batch_size": 8, "accumulate_steps": 3}, "`batch_size`=8: must be a multiple of `accumulate_steps`, 3"),
    ({"workload": "peer", "recompute_activations": True}, "`workload`=peer: its task neither accumulates nor recomp"),
])
def test_settings_that_do_not_go_together(values, message):
    with pytest.raises(InputError, match=message):
        TpuCompileSettings(**values)


def drop_out_real_tokens(mask):
    return SeededDropout(0.1)(UnpaddedLayout(mask).tokens(tf.ones([2, 3, 4])), seed=tf.constant([1, 2]))


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


def test_cycles_in_a_loop_count_each_round():
    compiled = """
%inner (p: f32[2]) -> f32[2] {
  %fusion.4 = f32[2] fusion(%p), metadata={op_name="deep"}, backend_config={"estimated_cycles":"7"}
}

%body.3 (p: f32[2]) -> f32[2] {
  %fusion.1 = f32[2] fusion(%p), calls=%fused, metadata={op_name="in"}, backend_config={"estimated_cycles":"20"}
  %call.2 = f32[2] call(%p), to_apply=%inner
}

%condition.3 (p: f32[2]) -> pred[] {
}

ENTRY %main (a: f32[2]) -> f32[2] {
  %while.1 = f32[2] while(%a), condition=%condition.3, body=%body.3, backend_config={"known_trip_count":{"n":"5"}}
  ROOT %fusion.2 = f32[2] fusion(%b), metadata={op_name="out"}, backend_config={"estimated_cycles":"3"}
}
"""
    assert estimates.estimated_cycles(compiled) == {"in": 100, "deep": 35, "out": 3}


@pytest.mark.parametrize(("direction", "expected"), [("LT", 80), ("GT", 20)])
def test_cycles_in_a_loop_whose_condition_says_how_often(direction, expected):
    compiled = f"""
%body.3 (p: s32[]) -> s32[] {{
  %fusion.1 = f32[2] fusion(%p), metadata={{op_name="in"}}, backend_config={{"estimated_cycles":"20"}}
}}

%condition.3 (p: (s32[], f32[2])) -> pred[] {{
  %constant.7 = s32[]{{:T(128)}} constant(4), metadata={{op_name="call"}}
  %count = s32[]{{:T(128)}} get-tuple-element(%p), index=0
  ROOT %Less = pred[]{{:T(512)}} compare(%count, %constant.7), direction={direction}
}}

ENTRY %main (a: s32[]) -> s32[] {{
  %while.1 = s32[] while(%a), condition=%condition.3, body=%body.3, metadata={{op_name="while"}}
}}
"""
    assert estimates.estimated_cycles(compiled) == {"in": expected}


@pytest.mark.parametrize(("workload", "expected"), [("served", 1), ("classifier", 3)])
def test_flops_without_a_language_model(workload, expected):
    settings = TpuCompileSettings(workload=workload, batch_size=B, max_seq_length=S)
    layers = 2 * (B * S) * (8 * 8 * 8 + 4 * 8 * 24 + 4 * 5 * 8)
    assert estimates.needed_flops(settings, TOY, "gather") == expected * layers


def test_the_peers_step_is_traced_with_the_same_features():
    settings = TpuCompileSettings(workload="peer", batch_size=B, max_seq_length=S, max_predictions_per_seq=P)
    step, features = steps.traced_step(settings, TOY, "gather")
    assert {name: tuple(value.shape) for name, value in features.items()} == {
        "input_word_ids": (B, S), "input_mask": (B, S), "input_type_ids": (B, S), "masked_lm_positions": (B, P),
        "masked_lm_ids": (B, P), "masked_lm_weights": (B, P), "next_sentence_labels": (B, 1)}
    captured = [tensor.shape for tensor in step.get_concrete_function(features).captured_inputs]
    assert len(captured) > 3 * 30  # each variable and two moments


@pytest.mark.parametrize("message", [
    "RESOURCE_EXHAUSTED: Ran out of memory. Used 20.50G of 15.75G hbm. Exceeded by 4.75G.",
    "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO temporaries (20.50G) exceeds "
    "available HBM (15.75G).",
])
def test_too_little_memory_is_told_from_other_refusals(message):
    with pytest.raises(compiler.OutOfMemoryError, match="the step needs 20") as caught:
        compiler.check_memory(message)
    assert (caught.value.needed, caught.value.capacity) == (20.5 * 2**30, 15.75 * 2**30)
    compiler.check_memory("INVALID_ARGUMENT: an operation")


def test_batch_sizes_to_try():
    assert largest_batch.batch_sizes(40) == [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40]
    assert largest_batch.batch_sizes(7) == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(("largest", "fixed"), [
    (160, 3.0), (163, 3.0), (32, 3.0), (8, 3.0), (1, 9.0), (6, 0.0), (8192, 1.0)])
@pytest.mark.parametrize("first", [1, 32, 8192])
def test_the_largest_batch_by_few_tries(largest, fixed, first):
    tried = []

    def try_batch(batch):
        tried.append(batch)
        return fixed + (16 - fixed) * batch / largest, batch <= largest

    assert largest_batch.find(try_batch, first, 16.0) == max(largest_batch.batch_sizes(largest))
    assert len(tried) == len(set(tried)) <= 5, tried


def test_a_search_of_two_tries():
    tried = []

    def try_batch(batch):
        tried.append(batch)
        return 3 + 0.1 * batch, batch <= 130

    assert largest_batch.find(try_batch, 32, 16.0, tries=2) == 128  # half of 6.2 is taken to be fixed
    assert tried == [32, 128]
    assert largest_batch.find(lambda batch: (17.0 + batch, False), 8, 16.0, tries=1) is None


def test_no_batch_fits():
    assert largest_batch.find(lambda batch: (17.0 + batch, False), 8, 16.0) is None


def test_the_compiler_may_save_memory_where_it_is_short():
    """It then computes activations again: memory stays below the line that smaller batches draw."""
    assert largest_batch.find(lambda batch: (min(1.0 + batch, 15.5), batch <= 28), 4, 16.0) == 28


CHIP = Chip(memory=2**34, peak=1e12, clock=1e9)
GIB = 2**30


def made_up(gib, fits=True):
    """A Measurement: 2 GFLOPs of which half are products, 4 ms."""
    estimate = Estimate(GIB, 0, round((gib - 1) * GIB), 0, 2e9, 1e9, {"MatMul": 3_000_000, "add": 1_000_000})
    return Measurement(estimate if fits else None, round(gib * GIB), 1.0, 2.0)


def test_the_table_is_kept_and_goes_on(tmp_path, capsys):
    plans = (Plan("pretraining", "base", 128, (8,)), Plan("peer", "base", 128, (8,), search=False),
             Plan("served", "base", 128, (1,), search=False))
    settings = TpuCompileSettings(table=True, table_dir=str(tmp_path))
    compiled = []

    def measure_made_up(row):
        compiled.append((row.workload, row.batch_size))
        return made_up(4 + row.batch_size, row.batch_size <= 11)

    table.run(dataclasses.replace(settings, only="pretraining", tries=1), plans, measure_made_up)
    assert compiled == [("pretraining", 8)]
    table.run(dataclasses.replace(settings, only="pretraining"), plans, measure_made_up)
    assert sorted(compiled) == [("pretraining", 8), ("pretraining", 10), ("pretraining", 12)]
    kept = json.loads((tmp_path / "pretraining_base_128_adamw_batch8_v5e_2x2.json").read_text())
    assert "tensorflow" in kept["versions"]
    table.run(settings, plans, measure_made_up)
    assert sorted(compiled[3:]) == [("peer", 8), ("served", 1)]
    capsys.readouterr()
    table.run(dataclasses.replace(settings, format="markdown"), plans, pytest.fail)
    printed = capsys.readouterr().out
    assert re.search(r"^\| Base, 128: pre-training \| 10 \| 14.00 \| 50% \| ", printed, re.MULTILINE)
    assert re.search(r"^\| Base, 128: pre-training \| 12 \| 16.00: too large \|", printed, re.MULTILINE)
    assert re.search(r"^\| Base, 128: pre-training \| 8 \| tf-models-official \| 12.00 \|", printed, re.MULTILINE)


def test_a_row_of_other_settings_is_made_anew(tmp_path):
    settings = TpuCompileSettings(table_dir=str(tmp_path))
    plan = Plan("pretraining", "base", 128, (8,))
    row = plan.settings(settings, 8)
    table.keep_row(plan, row, made_up(3))
    assert table.read_row(plan, row) == made_up(3)
    assert table.read_row(plan, dataclasses.replace(row, max_predictions_per_seq=21)) is None


def test_figures_of_a_row():
    assert layout.figures(made_up(3.5), 8, CHIP) == ["3.50", "50%", "4.0", "2,000", "25%"]
    assert layout.figures(made_up(17.5, fits=False), 8, CHIP) == ["17.50: too large", "", "", "", ""]


@pytest.mark.parametrize(("fitting", "too_large", "expected"), [
    ((8, 10), (12,), "10"), ((8, 10), (14,), "at least 10; extrapolated: 12"), ((8,), (), "at least 8"),
    ((8, 16), (), "at least 16; extrapolated: 28")])  # half a GiB for each example: 15.75 by 29.5
def test_the_largest_batch_is_sure_when_the_next_was_tried(fitting, too_large, expected):
    assert layout.largest({batch: made_up(1 + batch / 2, batch in fitting) for batch in (*fitting, *too_large)},
                          CHIP) == expected


def test_a_line_that_ends_below_all_batches():
    kept = {1: made_up(3), 3: made_up(17, fits=False), 4: made_up(17.1, fits=False)}
    assert layout.largest(kept, CHIP) == "at least 1; extrapolated: 1"


def test_text_is_aligned():
    assert layout.aligned([("a", "b"), ("long", "100")]) == ["a       b", "long  100"]


def test_plans_have_names_of_their_own():
    assert len({plan.name for plan in PLANS}) == len(PLANS)
    for plan in PLANS:
        for batch_size in plan.batch_sizes:
            plan.settings(TpuCompileSettings(), batch_size)  # raises where they do not go together
