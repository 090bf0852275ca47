"""The compilers accept every step; estimates from their output; the search for the largest batch; and the table."""

import dataclasses
import importlib.util
import json
import re

import pytest
import tensorflow as tf

from benchmarks.accelerator_compile import (
    compiler,
    estimates,
    largest_batch,
    layout,
    measurement,
    roofline,
    steps,
    table,
)
from benchmarks.accelerator_compile.__main__ import measure
from benchmarks.accelerator_compile.chips import Chip
from benchmarks.accelerator_compile.estimates import Estimate
from benchmarks.accelerator_compile.measurement import Measurement
from benchmarks.accelerator_compile.plans import PLANS, Plan
from benchmarks.accelerator_compile.settings import CompileSettings
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.fast import PackedDropout
from bert_tf.fast.layout import UnpaddedLayout
from tests import scripts

pytestmark = pytest.mark.large

GPU_SIZES = {"batch_size": 12, "max_seq_length": 4}  # Without autotuning, some matmuls of odd sizes cannot be compiled.
PLUGINS = {"v5e": "libtpu", "h100": "jax_cuda12_plugin"}


def needs_compiler(chip):
    """Returns the mark of a test that compiles for "v5e" or "h100"."""
    is_installed = all(importlib.util.find_spec(package) for package in ("jax", PLUGINS[chip]))
    return pytest.mark.skipif(not is_installed, reason=f"jax or {PLUGINS[chip]} is missing: see pyproject.toml")


TOY = BertConfig(50, hidden_size=8, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24,
                 max_position_embeddings=7, type_vocab_size=2)
B, S, P = 3, 5, 4
LAYER_FLOPS = 2 * (B * S) * (8 * 8 * 8 + 4 * 8 * 24 + 4 * 5 * 8)  # Projections, feed-forward, scores and contexts.


def compile_toy(folder, **flags):
    """Runs the benchmark with a toy model; returns the section of its report for each kind of embedding lookup."""
    path = folder / "bert_config.json"
    path.write_text(TOY.to_json())
    sizes = GPU_SIZES if flags.get("chip") in ("h100", "a100") else {"batch_size": B, "max_seq_length": S}
    report = scripts.succeed("benchmarks.accelerator_compile", bert_config_file=path, max_predictions_per_seq=P,
                             **sizes, **flags)
    sections = report.split("rejected operations: none")[1:]
    for section in sections:
        compiled, counted = map(float, re.findall(r" ([\d.]+) G\b", section))
        assert compiled >= counted
    return sections


@needs_compiler("v5e")
def test_training_step_compiles_for_a_tpu(tmp_path):
    sections = compile_toy(tmp_path)
    assert len(sections) == 2
    for section in sections:
        arguments, updated_elsewhere, _, _, peak = map(float, re.findall(r" ([\d.]+) MiB", section))
        assert peak > arguments >= 3 * 4 * TOY.num_parameters / 2**20  # Float32 weights and two moments.
        assert updated_elsewhere < 0.01
        assert "AdamW" in section


@needs_compiler("h100")
def test_training_step_compiles_for_a_gpu(tmp_path):
    section, = compile_toy(tmp_path, chip="a100", lookup="gather", precision="float16")
    assert re.search(r"kernels +\d+, which write 0\.00 GB\n  roofline, not measured .* at 1,555 GB/s", section)
    assert "AdamW" in section


@pytest.mark.parametrize(("chip", "flags"), [
    pytest.param(chip, flags, marks=needs_compiler(chip), id=f"{chip}-{flags['workload']}")
    for chip in PLUGINS for flags in (
        {"workload": "pretraining", "optimizer": "lamb", "accumulate_steps": 3, "recompute_activations": True},
        {"workload": "classifier"}, {"workload": "served"}, {"workload": "peer"})])
def test_every_workload_compiles(chip, flags, tmp_path):
    assert len(compile_toy(tmp_path, chip=chip, lookup="gather", **flags)) == 1


@pytest.mark.parametrize("chip", [pytest.param(chip, marks=needs_compiler(chip)) for chip in PLUGINS])
def test_unknown_option_of_the_compiler(chip):
    module = "func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }"
    with pytest.raises(InputError, match=r"^`compiler_options`: .*xla_no_such_option"):
        compiler.compile_module(module, chip, ("xla_no_such_option=1",))


@pytest.mark.parametrize(("chip", "extra"), [("v5e", "tpu-check"), ("a100", "gpu-check")])
def test_missing_compiler(chip, extra, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    message = f"`chip`={chip}: jax is not installed; run pip install -e '.[{extra}]'"
    with pytest.raises(InputError, match=re.escape(message)):
        measure(CompileSettings(chip=chip))


@pytest.mark.parametrize(("values", "message"), [
    ({"precision": "float16"}, "`precision`=float16: requires a GPU"),
    ({"precision": "float16", "chip": "h100", "workload": "peer"}, "`precision`=float16: .*`workload`"),
    ({"compiler_options": ("xla_x=1", "xla_y")}, "`compiler_options`=xla_y: must be NAME=VALUE"),
    ({"lookup": ("gather", "hash")}, "`lookup`=hash: "),
    ({"batch_size": 8, "accumulate_steps": 3}, "`batch_size`=8: .*`accumulate_steps`"),
    ({"workload": "peer", "recompute_activations": True}, "`workload`=peer: "),
])
def test_invalid_settings(values, message):
    with pytest.raises(InputError, match=message):
        CompileSettings(**values)


def drop_out_tokens(mask):
    return PackedDropout(0.1)(UnpaddedLayout(mask).tokens(tf.ones([2, 3, 4])), seed=tf.constant([1, 2]))


@pytest.mark.parametrize(("function", "operation"), [
    (lambda x: tf.py_function(lambda y: y, [x], tf.float32), "EagerPyFunc"),
    (drop_out_tokens, "StatelessRandomUniformFullIntV2"),
])
def test_operation_without_xla_kernel_is_named(function, operation):
    step = tf.function(function, jit_compile=True, autograph=False)
    with pytest.raises(ValueError, match=f"^XLA rejects {operation}: .*{operation}"):
        compiler.lower(step, tf.ones([2, 3]), is_tpu=True)


def test_lowering_removes_what_only_a_cpu_has():
    count = tf.Variable(1.0)
    generator = tf.random.Generator.from_seed(1)

    @tf.function(jit_compile=True)
    def step(x):
        count.assign_add(1.0)
        seed = generator.make_seeds(1)[:, 0]
        return x + tf.cast(tf.random.stateless_uniform([5], seed, None, None, tf.uint32), tf.float32)

    for is_tpu, expected in ((True, ["PHILOX", "DEFAULT"]), (False, ["PHILOX", "PHILOX"])):
        module = compiler.lower(step, tf.zeros([5]), is_tpu)
        assert "mhlo.copy" not in module
        assert re.findall(r"rng_bit_generator .*algorithm = +(\w+)", module) == expected


def test_float32_products_have_full_precision(tmp_path):
    path = tmp_path / "bert_config.json"
    path.write_text(TOY.to_json())
    settings = CompileSettings(workload="served", bert_config_file=str(path), batch_size=B, max_seq_length=S)
    tf.config.experimental.enable_tensor_float_32_execution(True)
    products = re.findall(r"stablehlo\.dot.*", measurement.lower_step(settings, "gather"))
    assert products
    assert all("HIGHEST" in line for line in products)


def test_fingerprint_ignores_source_locations():
    text = 'module @step_{0} {{\n  %1 = stablehlo.{1} %0 loc(#loc{0})\n}} loc(#loc)\n#loc{0} = loc("a{0}.py":1:1)\n'
    first = measurement.fingerprint(text.format(1, "tanh"))
    assert measurement.fingerprint(text.format(2, "tanh")) == first
    assert measurement.fingerprint(text.format(1, "exponential")) != first


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
    settings = CompileSettings(workload=workload, batch_size=B, max_seq_length=S, max_predictions_per_seq=P)
    assert estimates.needed_flops(settings, TOY, lookup) == expected


LAYERS = """
ENTRY %main (a: f32[2]) -> f32[2] {
  %fusion.1 = f32[2] fusion(%a), metadata={op_name="bert/layer_0/MatMul_1"}, backend_config={"estimated_cycles":"20"}
  %fusion.2 = f32[2] fusion(%b), metadata={op_name="bert/layer_11/MatMul"}, backend_config={"estimated_cycles":"3"}
  %broadcast.7 = f32[2] broadcast(%c), backend_config={"estimated_cycles":"100"}
  %add.1 = f32[2] add(%d, %e), metadata={op_name="bert/add"}
}
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


GPU_KERNELS = """
%fused_gather (table: f32[100,4], ids: s32[2]) -> f32[2,4] {
  %table = f32[100,4]{1,0} parameter(0)
  %ids = s32[2]{0} parameter(1)
  ROOT %rows = f32[2,4]{1,0} gather(%table, %ids), offset_dims={1}
}

%fused_product (left: bf16[8,16], right: bf16[16,32]) -> (bf16[8,32], pred[3]) {
  %left = bf16[8,16]{1,0} parameter(0)
  %right = bf16[16,32]{1,0} parameter(1)
  %dot.1 = bf16[8,32]{1,0} dot(%left, %right), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %sign = pred[3]{0} constant({0, 1, 0})
  ROOT %both = (bf16[8,32]{1,0}, pred[3]{0}) tuple(%dot.1, %sign)
}

%body (p: (s32[], f32[8])) -> (s32[], f32[8]) {
  %p = (s32[], f32[8]{0}) parameter(0)
  %sum = f32[8]{0} get-tuple-element(%p), index=1
  %copy.1 = f32[8]{0} copy(%sum)
}

%condition (p: (s32[], f32[8])) -> pred[] {
  %count = s32[] get-tuple-element(%p), index=0
}

ENTRY %main (x: bf16[8,16], y: bf16[16,32], t: f32[100,4], i: s32[2]) -> f32[2,4] {
  %x = bf16[8,16]{1,0} parameter(0)
  %y = bf16[16,32]{1,0} parameter(1)
  %t = f32[100,4]{1,0} parameter(2)
  %i = s32[2]{0} parameter(3)
  %a = f16[2,8,16]{2,1,0} parameter(4)
  %b = f16[2,16,4]{2,1,0} parameter(5)
  %dots.7 = (bf16[8,32]{1,0}, pred[3]{0}) fusion(%x, /*index=1*/%y), kind=kCustom, calls=%fused_product, metadata={op_name="layer_1/MatMul"}
  %loop = (s32[], f32[8]{0}) while(%i), condition=%condition, body=%body, backend_config={"known_trip_count":{"n":"5"}}
  %call.3 = (f16[2,8,4]{2,1,0}, s8[4096]{0}) custom-call(%a, %b), custom_call_target="__cublas$lt$matmul", metadata={op_name="scores"}, backend_config={"dot_dimension_numbers":{"lhs_contracting_dimensions":["2"]}}
  ROOT %fusion.2 = f32[2,4]{1,0} fusion(%t, %i), kind=kLoop, calls=%fused_gather
}
"""  # noqa: E501


def test_kernels_of_a_gpu():
    product, scores, *rest = sorted(roofline.find_kernels(GPU_KERNELS), key=lambda kernel: -kernel.written)
    assert product == roofline.Kernel("layer/MatMul", 1, 2 * (8 * 16 + 16 * 32), 2 * 8 * 32 + 3,
                                      {"bf16": 2 * 8 * 16 * 32})
    assert scores == roofline.Kernel("scores", 1, 2 * 2 * (8 * 16 + 16 * 4), 2 * 2 * 8 * 4, {"f16": 2 * 2 * 8 * 4 * 16})
    rows, copy = sorted(rest, key=lambda kernel: kernel.runs)
    assert (rows.operation, rows.runs, rows.read, rows.written) == ("fusion", 1, 4 * 8 + 4 * 2, 4 * 8)  # Not the table.
    assert (copy.operation, copy.runs, copy.read, copy.written) == ("copy", 5, 32, 32)


def test_roofline():
    chip = Chip("chip", 0, 0, peak=1e6, float32_peak=1e4, bandwidth=100)
    assert roofline.Kernel("", 3, 150, 50, {"bf16": 10**6}).seconds(chip) == 3 * 2
    assert roofline.Kernel("", 1, 150, 50, {"bf16": 10**6, "f32": 10**5}).seconds(chip) == 1 + 10


@pytest.mark.extra_large
def test_step_of_the_peer_is_traced_with_the_same_features():
    settings = CompileSettings(workload="peer", batch_size=B, max_seq_length=S, max_predictions_per_seq=P)
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


def test_largest_batch_with_memory_that_hardly_grows_below_the_limit():
    tried = []

    def try_batch(batch):
        tried.append(batch)
        return (14.5 + batch / 10000, True) if batch <= 230 else (4 + batch / 20, False)

    assert largest_batch.find(try_batch, 160, 15.75) == 224
    assert len(tried) <= 7, tried


# The table.

CHIP = Chip("chip", memory=2**34, reserved=2**28, peak=1e12, clock=1e9, topology="chip:1x1")
GIB = 2**30


def make_measurement(gib, fits=True, **figures):
    """Returns a Measurement of a step of 4 ms with 2 GFLOPs, half of them in matmuls."""
    estimate = Estimate(GIB, 0, round((gib - 1) * GIB), 0, 2e9, 1e9, 0.004, **figures)
    return Measurement(estimate if fits else None, round(gib * GIB), 2.0)


class Compiler:
    """Stand-in for table.measure_row: 4 GiB and 1 for each example; `program` is the hash of every program."""

    def __init__(self):
        self.program, self.calls = "abc", []

    def __call__(self, row, stored):
        self.calls.append((row.workload, row.batch_size))
        made = {"settings": table.key_of(row), "program": self.program}
        if stored and (stored["program"] == self.program or row.table == "check"):
            return {**stored, **made}
        result = dataclasses.asdict(make_measurement(4 + row.batch_size, row.batch_size <= 11))
        if result["estimate"]:
            del result["estimate"]["operations"]
        return {**made, "compiler": "1.0", "options": [], "measurement": result}


def fail_to_compile(*arguments):
    """Stand-in for a compilation that must not happen."""
    pytest.fail(f"compiled: {arguments}")


@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.setattr(compiler, "check_installed", lambda chip: None)
    return CompileSettings(table="update", rows_dir=str(tmp_path))


def test_table_is_stored_and_updated(settings, tmp_path, capsys):
    plans = (Plan(("v5e",), "pretraining", "base", 128, (8,), search=True),
             Plan(("v5e",), "peer", "base", 128, (8,)), Plan(("h100",), "served", "base", 128, (1,)))
    compile_row = Compiler()
    table.run(dataclasses.replace(settings, only="pretraining", tries=1), plans, compile_row)
    assert set(compile_row.calls) == {("pretraining", 8)}
    table.run(dataclasses.replace(settings, only="pretraining", tries=0), plans, compile_row)
    assert set(compile_row.calls) == {("pretraining", 8), ("pretraining", 10), ("pretraining", 12)}
    stored = json.loads((tmp_path / "v5e_pretraining_base_128_adamw_batch8.json").read_text())
    assert (stored["program"], stored["compiler"], stored["measurement"]["needed_memory"]) == ("abc", "1.0", 12 * GIB)
    assert "operations" not in stored["measurement"]["estimate"]
    table.run(dataclasses.replace(settings, tries=0), plans, compile_row)
    output = capsys.readouterr().out
    assert "v5e_pretraining_base_128_adamw_batch8: unchanged" in output
    assert "v5e_peer_base_128_adamw_batch8: 12.00 GiB; compiled in 2 s" in output
    table.run(dataclasses.replace(settings, table="print", format="markdown"), plans, fail_to_compile)
    printed = capsys.readouterr().out
    for row in (r"10 \| 14\.00 \| 50% \| ", r"12 \| 16\.00: too large \|.* 10 \|$",
                r"8 \| tf-models-official \| 12\.00 \|"):
        assert re.search(rf"^\| Base, 128: pre-training \| {row}", printed, re.MULTILINE)
    compile_row.program = "def"
    table.run(dataclasses.replace(settings, only="pretraining", tries=1), plans, compile_row)
    assert {path.name for path in tmp_path.iterdir()} == {
        "v5e_pretraining_base_128_adamw_batch8.json", "v5e_peer_base_128_adamw_batch8.json"}


def test_plans_with_compiler_options_have_their_own_rows(settings, capsys):
    plans = [Plan(("v5e",), workload, "base", 128, (batch,), options=options)
             for workload in ("pretraining", "peer") for batch, options in ((8, ()), (10, ("a=b",)))]
    base = dataclasses.replace(settings, compiler_options=("c=d",))
    assert [plan.settings(base, 8).compiler_options for plan in plans] == 2 * [("c=d",), ("c=d", "a=b")]
    compile_row = Compiler()
    table.run(settings, plans, compile_row)
    assert len(compile_row.calls) == len(plans)
    table.run(dataclasses.replace(settings, table="print", format="markdown"), plans, fail_to_compile)
    compared = capsys.readouterr().out.split("## Comparison")[-1]
    assert re.findall(r"^\| (Base.*?) \| (\d+) \| (.*?) \|", compared, re.MULTILINE) == [
        (f"Base, 128: pre-training{options}", batch, project) for options, batch in (("", "8"), (", a=b", "10"))
        for project in ("this project", "tf-models-official")]


def test_check_of_the_programs(settings, capsys):
    plans = Plan(("v5e",), "pretraining", "base", 128, (8,)),
    compile_row = Compiler()
    table.run(settings, plans, compile_row)
    table.run(dataclasses.replace(settings, table="check"), plans, compile_row)
    assert "v5e_pretraining_base_128_adamw_batch8: same program" in capsys.readouterr().out
    compile_row.program = "def"
    with pytest.raises(InputError, match=r"`rows_dir`=.*: 1 rows have other programs, the first is v5e_pretraining"):
        table.run(dataclasses.replace(settings, table="check"), plans, compile_row)


def test_unchanged_program_is_not_compiled(settings, tmp_path, monkeypatch):
    monkeypatch.setattr(table, "lower_step", lambda row, lookup: "module @step {}")
    monkeypatch.setattr(compiler, "version", lambda chip: "1.0")
    monkeypatch.setattr(table, "measure_module", lambda row, lookup, module: make_measurement(3, operations={"add": 1}))
    stored = table.measure_row(settings, None)
    assert table.to_measurement(stored) == make_measurement(3)
    monkeypatch.setattr(table, "measure_module", fail_to_compile)
    assert table.measure_row(settings, stored) == stored
    for changed in ({**stored, "program": ""}, {**stored, "compiler": "0.9"}, {**stored, "options": ["a=b"]}):
        with pytest.raises(pytest.fail.Exception):
            table.measure_row(settings, changed)
        is_program = changed["program"] != stored["program"]
        assert (table.measure_row(dataclasses.replace(settings, table="check"), changed) != changed) == is_program


def test_stored_row_with_other_settings_is_ignored(settings):
    plan = Plan(("v5e",), "pretraining", "base", 128, (8,))
    row = plan.settings(settings, 8)
    stored = Compiler()(row, None)
    table.write_row(plan, row, stored)
    assert table.read_row(plan, row) == stored
    assert table.read_row(plan, dataclasses.replace(row, max_predictions_per_seq=21)) is None


def test_figures_of_a_row():
    assert layout.figures(make_measurement(3.5), 8, CHIP) == ["3.50", "50%", "4.0", "2,000", "25%"]
    assert layout.figures(make_measurement(17.5, fits=False), 8, CHIP) == ["17.50: too large", "", "", "", ""]
    gpu = Chip("gpu", memory=2**34, reserved=0, peak=1e12)
    assert layout.figures(make_measurement(3.5, kernels=1234, written=5 * 10**9), 8, gpu) == [
        "3.50", "50%", "4.0", "2,000", "25%", "1,234", "5.00"]
    assert layout.figures(make_measurement(17.5, fits=False), 8, gpu) == ["17.50: too large", *[""] * 6]


@pytest.mark.parametrize(("fitting", "too_large", "expected"), [
    ((8, 10), (12,), "10"), ((8, 10), (14,), "at least 10; extrapolated: 12"), ((8,), (), "at least 8"),
    ((8, 16), (), "at least 16; extrapolated: 28"),  # Half a GiB for each example: 15.75 allows 29.5.
])
def test_largest_batch_is_certain_if_the_next_size_was_tried(fitting, too_large, expected):
    measurements = {batch: make_measurement(1 + batch / 2, batch in fitting) for batch in (*fitting, *too_large)}
    assert layout.largest(measurements, CHIP) == expected


def test_plans_have_unique_names_and_valid_settings():
    names = [(chip, plan.name) for plan in PLANS for chip in plan.chips]
    assert len(set(names)) == len(names)
    for plan in PLANS:
        for chip in plan.chips:
            for batch_size in plan.batch_sizes:
                plan.settings(CompileSettings(chip=chip), batch_size)
