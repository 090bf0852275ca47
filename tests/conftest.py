"""Tiers of the tests, settings of the test processes, and fixtures with numbers computed by the original BERT."""

import faulthandler
import gc
import json
import os
import pathlib
import signal
import sys

import numpy as np
import pytest

from tests import fork_server, scripts

REFERENCE = pathlib.Path(__file__).parent / "reference"

# A process that a shell starts in the background ignores Ctrl-C, and so do its children. Tests send Ctrl-C to some.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

MARKERS = {
    "large": "scripts, exports, and training runs, each task once",
    "extra_large": "kills, invalid files, Cloud Storage, Beam, several processes, benchmarks, and other slow tests",
}
UNMARKED = "not large and not extra_large"  # The expression of `make test-quick`.
# Directory, module, or module::test -> marker. The longest entry applies. Tests without an entry start no process, and
# train at most a few steps of a toy model.
TIERS = {
    "benchmarks/test_benchmarks.py": "extra_large",
    "benchmarks/test_fine_tuning_benchmark.py": "large",
    "benchmarks/test_litert_products.py": "large",
    "benchmarks/test_peer_process.py": "large",
    "benchmarks/test_accelerator_compile.py": "large",
    "benchmarks/test_accelerator_compile.py::test_step_of_the_peer_is_traced_with_the_same_features": "extra_large",
    "bert_tf/analysis/test_probes.py": "large",
    "bert_tf/checkpoints/test_model_garden.py": "large",
    "bert_tf/checkpoints/test_model_garden.py::test_their_encoder_is_read": "extra_large",
    "bert_tf/checkpoints/test_tfhub_models.py": "extra_large",
    "bert_tf/checkpoints/test_tfhub_models.py::test_outputs_equal_those_of_the_saved_model": "large",
    "bert_tf/cli/test_commands.py::test_a_package_of_another_project_with_the_same_name": "large",
    "bert_tf/cli/test_commands.py::test_a_script_runs_with_its_flags": "large",
    "bert_tf/cli/test_script_processes.py": "large",
    "bert_tf/compression/test_pruning.py::test_importance_is_the_mean_absolute_derivative_over_examples": "large",
    "bert_tf/compression/test_word_embeddings.py::test_a_litert_file_with_shared_layers": "extra_large",
    "bert_tf/export/test_saved_models.py": "large",
    "bert_tf/export/test_saved_models.py::test_matmuls_in_bfloat16": "extra_large",
    "bert_tf/export/test_saved_models.py::test_smaller_weights": "extra_large",
    "bert_tf/files/test_locks.py::test_a_lock_ends_with_a_killed_process": "large",
    "bert_tf/litert/test_model.py": "large",
    "bert_tf/litert/test_model.py::test_smaller_weights": "extra_large",
    "bert_tf/serving/test_load.py": "extra_large",
    "bert_tf/techniques/test_int8.py::test_gradients_ignore_rounding": "large",
    "bert_tf/techniques/test_int8.py::test_the_int8_file_and_the_model_agree": "extra_large",
    "bert_tf/techniques/test_int8.py::test_turning_it_on_in_a_traced_function": "extra_large",
    "bert_tf/techniques/test_lora.py": "large",
    "bert_tf/techniques/test_theseus.py::test_layers_with_compiled_blocks_have_the_same_gradients": "extra_large",
    "bert_tf/test_encoder_options.py::test_dropout_masks_depend_on_the_seed_alone": "large",
    "bert_tf/test_encoder_options.py::test_last_where_read_computes_fewer_rows": "large",
    "bert_tf/test_encoder_options.py::test_layers_share_the_compiled_blocks_of_training": "large",
    "bert_tf/test_encoder_options.py::test_outputs_loss_and_gradients_are_unchanged": "large",
    "bert_tf/test_global_state.py": "large",
    "bert_tf/test_import_cost.py": "extra_large",
    "bert_tf/test_keras_files.py": "extra_large",
    "bert_tf/test_keras_harness.py::test_layers_from_configs_and_a_training_step": "large",
    "bert_tf/test_keras_harness.py::test_layers_in_graphs_and_files": "extra_large",
    "bert_tf/test_keras_training.py": "large",
    "bert_tf/test_keras_training.py::test_fit_evaluate_predict": "extra_large",
    "bert_tf/test_packed_sequences.py::test_losses_and_gradients": "large",
    "bert_tf/test_reference_runs.py::test_training": "large",
    "bert_tf/tokenization/test_normalizer_model.py": "large",
    "bert_tf/tokenization/test_normalizer_model.py::test_every_character": "extra_large",
    "bert_tf/tokenization/test_tokenizer.py::test_datasets_and_traced_functions": "large",
    "bert_tf/tokenization/test_tokenizer_on_random_text.py": "large",
    "data_prep/test_compilation.py": "extra_large",
    "data_prep/test_processes.py": "large",
    "data_prep/pretraining/test_beam_runner.py": "extra_large",
    "data_prep/pretraining/test_dask_cluster.py": "extra_large",
    "data_prep/pretraining/test_workers.py": "large",
    "data_prep/pretraining/test_workers.py::test_a_run_that_is_killed_resumes_and_creates_the_same_bytes":
        "extra_large",
    "data_prep/sentences/test_split_sentences.py::test_a_killed_run_leaves_no_output_and_can_be_repeated":
        "extra_large",
    "data_prep/vocabulary/test_counts.py::test_counts_do_not_depend_on_workers": "large",
    "end_to_end/test_cloud_storage.py": "extra_large",
    "end_to_end/test_demo.py::test_demo_replaces_an_earlier_one_and_reports_results_next_to_baselines": "extra_large",
    "end_to_end/test_fine_tuning.py": "large",
    "end_to_end/test_killed_runs.py": "extra_large",
    "end_to_end/test_raw_text.py": "large",
    "end_to_end/test_squad.py": "large",
    "end_to_end/test_text_to_served_model.py": "large",
    "guards/test_guards.py::test_operations_of_a_step": "extra_large",
    "guards/test_guards.py::test_operations_of_an_export": "extra_large",
    "guards/test_guards.py::test_record_and_compare": "extra_large",
    "guards/test_guards.py::test_three_steps": "extra_large",
    "robustness/soak": "extra_large",
    "robustness/test_rejected_commands.py": "large",
    "robustness/test_tries.py": "extra_large",
    "run/arrays/test_prediction.py": "large",
    "run/compression/test_combined_techniques.py": "extra_large",
    "run/compression/test_compression_chain.py": "large",
    "run/compression/test_distillation.py": "large",
    "run/compression/test_distillation.py::test_a_killed_run_ends_like_an_uninterrupted_one": "extra_large",
    "run/compression/test_distillation.py::test_a_resumed_run_ends_like_an_uninterrupted_one": "extra_large",
    "run/compression/test_distillation.py::test_texts_without_labels_and_layers_replaced_by_the_teachers":
        "extra_large",
    "run/compression/test_general_distillation.py": "large",
    "run/compression/test_prune_model.py": "large",
    "run/compression/test_prune_model.py::test_a_killed_pruning_ends_like_an_undisturbed_one": "extra_large",
    "run/compression/test_prune_model.py::test_an_interrupted_pruning_ends_like_an_undisturbed_one": "extra_large",
    "run/compression/test_prune_model.py::test_each_round_learns_from_the_original_model": "extra_large",
    "run/compression/test_prune_model.py::test_the_last_round_that_reaches_the_minimum_score_is_the_result":
        "extra_large",
    "run/evaluation/test_squad_scores.py::test_resumed_runs_and_hosts_have_the_same_batches": "large",
    "run/feature_based/test_feature_based.py": "extra_large",
    "run/feature_based/test_feature_based.py::test_it_learns_and_writes_the_files_of_a_tagger": "large",
    "run/feature_based/test_feature_model.py": "large",
    "run/finetuning/test_causal_runs.py": "large",
    "run/finetuning/test_causal_runs.py::test_a_resumed_run_and_an_evaluation": "extra_large",
    "run/finetuning/test_causal_runs.py::test_the_model_keeps_its_attention_and_its_bilstm": "extra_large",
    "run/finetuning/test_fine_tuned.py": "large",
    "run/finetuning/test_freezing.py::test_frozen_layers_have_no_backward_pass": "large",
    "run/finetuning/test_long_texts_of_a_run.py": "large",
    "run/finetuning/test_trained_weights.py": "large",
    "run/finetuning/test_trained_weights.py::test_devices_do_not_change_the_result": "extra_large",
    "run/finetuning/test_trained_weights.py::test_frozen_layers_have_no_optimizer_state_and_resume_bit_identically":
        "extra_large",
    "run/analysis/test_attention_corpus.py": "large",
    "run/analysis/test_attention_corpus.py::test_importance": "extra_large",
    "run/analysis/test_attention_page.py": "large",
    "run/analysis/test_attention_report.py": "large",
    "run/analysis/test_probe_layers.py": "large",
    "run/analysis/test_probe_layers.py::test_bytes_that_are_not_utf8_are_dropped_with_a_note": "extra_large",
    "run/pretraining/test_dynamic_masking.py": "large",
    "run/pretraining/test_evaluation.py": "large",
    "run/pretraining/test_evaluation.py::test_two_replicas_give_the_same_results": "extra_large",
    "run/pretraining/test_inputs.py": "large",
    "run/pretraining/test_objectives_in_training.py": "large",
    "run/pretraining/test_objectives_in_training.py::test_a_resumed_run_ends_like_an_uninterrupted_one": "extra_large",
    "run/pretraining/test_objectives_in_training.py::test_a_run_resumes_in_any_phase": "extra_large",
    "run/test_answer.py": "large",
    "run/test_evaluate_models.py": "large",
    "run/test_export_saved_model.py": "large",
    "run/test_export_saved_model.py::test_litert_in_a_remote_directory": "extra_large",
    "run/test_export_saved_model.py::test_litert_next_to_a_saved_model": "extra_large",
    "run/test_extract_features.py": "large",
    "run/test_hugging_face_models.py": "large",
    "run/test_predict.py": "large",
    "run/test_run_multiple_choice.py": "large",
    "run/test_run_tagger.py": "large",
    "run/test_script_errors.py": "large",
    "run/test_script_errors.py::test_help_lists_the_flags_of_the_script": "extra_large",
    "run/training/test_loop.py::test_a_resumed_log_is_that_of_an_uninterrupted_run": "extra_large",
    "run/training/test_loop.py::test_a_resumed_run_keeps_the_best_weights_and_evaluates_again_after_its_checkpoint":
        "large",
    "run/training/test_loop.py::test_steps_of_the_log_do_not_depend_on_the_clock": "large",
    "run/training/test_loop.py::test_training_without_evaluations_makes_the_best_weights_obsolete": "large",
    "run/training/test_remote_runs.py": "large",
    "run/training/test_same_mathematics.py": "large",
    "run/training/test_same_mathematics.py::test_a_mean_of_means_would_be_seen": "extra_large",
    "run/training/test_same_mathematics.py::test_float16_with_a_loss_scale": "extra_large",
    "run/training/test_same_mathematics.py::test_two_processes": "extra_large",
    "run/training/test_step.py::test_a_resumed_run_ends_bit_identical": "extra_large",
    "run/training/test_step.py::test_gradient_accumulation_on_replicas_with_batches_from_a_generator": "large",
    "run/training/test_step.py::test_micro_batches_have_their_own_dropout": "extra_large",
    "test_documentation.py::test_links": "large",
    "test_gpu_kernels.py": "extra_large",
    "test_library_page.py::test_first_section": "large",
    "test_library_page.py::test_other_sections": "extra_large",
    "test_installation.py": "large",
}
PROCESS_EVENTS = {"os.fork", "os.forkpty", "os.posix_spawn", "subprocess.Popen", "tests.start_process"}

is_unmarked = False  # Whether the current test is unmarked.
standard_error = None  # File descriptor that pytest does not capture.


# With `--dist=loadscope --no-loadscope-reorder`, workers take modules in this order. The longest are first, so that all
# workers finish at about the same time.
LONGEST_FIRST = ("end_to_end", "benchmarks", "bert_tf/export", "run/training", "robustness", "run/compression",
                 "run/pretraining", "run/test_", "data_prep", "bert_tf/litert", "test_gpu_kernels")


def get_tier(node_id):
    """Returns the tier of a test: that of the longest entry of TIERS that contains it; None for unmarked tests."""
    name = node_id.removeprefix("tests/").partition("[")[0]
    entries = [entry for entry in TIERS if f"{name}/".replace("::", "/").startswith(f"{entry}/".replace("::", "/"))]
    return TIERS[max(entries, key=len)] if entries else None


def pytest_collection_modifyitems(items):
    """Marks each test with its tier, and puts the modules that take longest first."""
    for item in items:
        if tier := get_tier(item.nodeid):
            item.add_marker(tier)

    def place(item):
        path = item.path.relative_to(REFERENCE.parent).as_posix()
        return next((place for place, start in enumerate(LONGEST_FIRST) if path.startswith(start)), len(LONGEST_FIRST))

    items.sort(key=place)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Lets an unmarked test fail if it starts a process."""
    global is_unmarked
    is_unmarked = get_tier(item.nodeid) is None
    try:
        return (yield)
    finally:
        is_unmarked = False


def reject_processes(event, _):
    """Audit hook: raises an error if an unmarked test starts a process."""
    if is_unmarked and event in PROCESS_EVENTS:
        raise AssertionError(f"{event}: only tests with a tier in tests/conftest.py start processes")


def pytest_timeout_set_timer(settings):
    """Prints the stacks of all threads after a timeout, and ends the process.

    The timers of pytest-timeout are Python code. They wait if C++ code holds the interpreter's lock, for example at the
    end of a tf.data iterator, and the output of a pytest-xdist worker is not visible.
    """
    faulthandler.dump_traceback_later(settings.timeout, exit=True, file=standard_error)
    return True


def pytest_timeout_cancel_timer():
    faulthandler.cancel_dump_traceback_later()
    return True


def pytest_configure(config):
    """Starts the fork server for all workers of pytest-xdist, or configures TensorFlow in a process that runs tests."""
    global standard_error
    standard_error = os.dup(2)
    for tier, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{tier}: {meaning}")
    sys.addaudithook(reject_processes)
    if config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput"):
        if config.getoption("markexpr") != UNMARKED:
            scripts.server_address()
        return
    import tensorflow as tf

    gc.set_threshold(*fork_server.COLLECTION)
    fork_server.switch_autotuning_off()
    # Possible only before the first operation.
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)


@pytest.fixture(scope="session")
def two_replicas():
    """Returns a MirroredStrategy of two logical CPUs. A process can have only one, since their collectives collide."""
    import tensorflow as tf

    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


@pytest.fixture(scope="session")
def reference():
    """Returns the directory of reference numbers."""
    return REFERENCE


@pytest.fixture(scope="session")
def reference_config():
    """Returns the BertConfig of the reference models: V=120, H=32, L=2, N=4."""
    from bert_tf.config import BertConfig

    return BertConfig.from_json_file(REFERENCE / "bert_config.json")


@pytest.fixture(scope="session")
def reference_batches():
    """Returns 25 batches: dict of feature -> array [25, B, ...], with the classifier's `labels` [25, B]."""
    with np.load(REFERENCE / "batches.npz") as arrays:
        return dict(arrays)


@pytest.fixture(scope="session")
def reference_schedule():
    """Returns the arguments of create_optimizer in the reference runs."""
    return json.loads((REFERENCE / "schedule.json").read_text())


@pytest.fixture(scope="session")
def reference_numbers():
    """Returns a function from "pretrain" or "classify" to a dict of arrays, the results of the original BERT."""
    def read(kind):
        with np.load(REFERENCE / f"{kind}.npz") as arrays:
            return dict(arrays)
    return read
