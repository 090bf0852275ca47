"""Flags that several drivers define, under the original's names and defaults, and the checks that go with them.

Each `define_*` is called by an entry script, which then owns the flags: `--help` shows them under its name.
Shared code never reads FLAGS; `main()` passes values on.
"""

import os

from absl import flags

from bert_tf.cli import paths
from bert_tf.config import PUBLISHED_SIZES, BertConfig
from bert_tf.errors import InputError
from bert_tf.files import is_remote, new_file
from bert_tf.tokenization.vocabulary import check_casing

flags.disclaim_key_flags()

DTYPE_POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}  # of Keras
# Flags of the original that mean nothing here, and their defaults.
UNNEEDED = {"tpu_zone": None, "gcp_project": None, "master": None, "num_tpu_cores": 8}


def define_model_flags():
    """The encoder's config and where its weights come from."""
    flags.DEFINE_string(
        "bert_config_file", None, "bert_config.json of the model: sizes, dropout rates; or the name of a published "
        f"size with 30,522 entries ({', '.join(PUBLISHED_SIZES)}). Needed.")
    flags.DEFINE_string(
        "init_checkpoint", None,
        "Checkpoint to start from: a prefix (bert_model.ckpt, ckpt-1000) or a folder, of the original, of these "
        "scripts, of the Model Garden or of Hugging Face (model.safetensors), and of the same bert_config.json.")


def define_tokenizer_flags(*, max_seq_length=128):
    """The vocabulary and the casing that go with a checkpoint."""
    flags.DEFINE_string(
        "vocab_file", None, "vocab.txt of the model, one WordPiece entry a line. Needed; it must be the one the "
                            "checkpoint was trained with.")
    flags.DEFINE_bool(
        "do_lower_case", True, "Whether to lower-case and strip accents: True for uncased models, False for cased "
                               "ones.")
    flags.DEFINE_integer(
        "max_seq_length", max_seq_length,
        "Longest sequence in WordPiece tokens, [CLS] and [SEP] included; longer texts are cut. At most "
        "max_position_embeddings of the config.", lower_bound=4)


def define_training_flags(*, learning_rate=5e-5, train_batch_size=32):
    """What training does apart from its length."""
    flags.DEFINE_string("output_dir", None, "Folder for checkpoints, results and curves; made if missing. Needed.")
    flags.DEFINE_integer(
        "train_batch_size", train_batch_size, "Examples in a training step, over all replicas together.",
        lower_bound=1)
    flags.DEFINE_integer("eval_batch_size", 8, "Examples in an evaluation step.", lower_bound=1)
    flags.DEFINE_float(
        "learning_rate", learning_rate, "Peak learning rate, reached at the end of the warm-up.",
        lower_bound=0)
    flags.DEFINE_integer(
        "save_checkpoints_steps", 1000, "Steps between two checkpoints; the last step always saves one.",
        lower_bound=1)
    flags.DEFINE_integer(
        "keep_checkpoint_max", 5, "How many of the newest checkpoints stay.", lower_bound=1)
    flags.DEFINE_integer(
        "iterations_per_loop", 1000, "Most steps that run in one call of the training function; fewer where that "
                                     "keeps the progress bar moving.", lower_bound=1)
    flags.DEFINE_integer("random_seed", 12345, "Fixes initial weights, dropout and the order of the data.")


def define_step_flags():
    """How a training step is computed."""
    flags.DEFINE_integer(
        "accumulate_steps", 1, "Pieces in which each replica computes its part of a batch, one after the other, to "
                               "need less memory; the update is that of the whole batch.", lower_bound=1)
    flags.DEFINE_enum(
        "mixed_precision", "float32", list(DTYPE_POLICIES),
        "Type to compute in; weights, their updates, normalisation and losses stay float32. bfloat16 on TPU and "
        "newer GPUs; float16, with a loss scale against underflow, on older ones.")
    flags.DEFINE_bool(
        "jit_compile", False, "Whether XLA compiles forward and backward pass. Padding is then computed too, since "
                              "XLA needs fixed shapes; TPUs always compile.")


def define_optimizer_flags():
    """Which optimizer, and its settings other than the rate."""
    flags.DEFINE_enum(
        "optimizer", "adamw", ["adamw", "lamb"], "adamw: the original's, for batches up to about a thousand; lamb: "
                                                 "for larger ones, with a higher --learning_rate.")
    flags.DEFINE_float(
        "weight_decay_rate", 0.01, "Share of a weight that decays in a step at rate 1; 0 for none.", lower_bound=0)
    flags.DEFINE_list(
        "no_weight_decay", ["LayerNorm", "layer_norm", "bias"],
        "Regular expressions; a weight in whose name one is found does not decay.")
    flags.DEFINE_float("clip_norm", 1.0, "Largest global norm of the gradients; 0 for no clipping.", lower_bound=0)
    flags.DEFINE_float(
        "decay_power", 1.0, "The rate falls as the share of steps left, to this power; 1, the original's, is linear.",
        lower_bound=1e-3)


def define_distribution_flags():
    """Devices."""
    flags.DEFINE_enum(
        "distribution_strategy", "one_device", ["one_device", "mirrored", "multi_worker_mirrored", "tpu"],
        "one_device: one CPU or GPU; mirrored: all GPUs of this machine; multi_worker_mirrored: the machines that "
        "the environment variable TF_CONFIG lists; tpu: the TPU that --tpu_name names.")
    flags.DEFINE_integer(
        "num_gpus", None, "GPUs to use; unset means all that are visible (one for one_device).", lower_bound=0)
    flags.DEFINE_integer(
        "num_cpu_devices", None, "With --distribution_strategy=mirrored: so many replicas on the CPU, to try it on a "
                                 "machine without GPUs; it is no faster.", lower_bound=1)
    flags.DEFINE_bool("use_tpu", False, "Short for --distribution_strategy=tpu.")
    flags.DEFINE_string("tpu_name", None, "Name or grpc:// address of the TPU; unset on a TPU machine.")
    for name in ("tpu_zone", "gcp_project", "master"):
        flags.DEFINE_string(name, UNNEEDED[name], "Accepted as in the original, not needed: --tpu_name says it all.")
    flags.DEFINE_integer(
        "num_tpu_cores", UNNEEDED["num_tpu_cores"], "Accepted as in the original, not needed: all cores are used.")


def note_unneeded(values):
    """Says once of each flag of the original that is given and no longer needed; `values`: dict of flag values."""
    for name, default in UNNEEDED.items():
        if values[name] != default:
            print(f"--{name}: accepted, and not needed any more (see --help)")


def read_config(bert_config_file, max_seq_length):
    """The BertConfig of `--bert_config_file`, checked against `--max_seq_length`; InputError names the flag."""
    if bert_config_file in PUBLISHED_SIZES and not os.path.exists(bert_config_file):
        config = BertConfig.from_name(bert_config_file)
    else:
        paths.check_file("bert_config_file", bert_config_file)
        config = BertConfig.from_json_file(bert_config_file)
    if max_seq_length > config.max_position_embeddings:
        raise InputError(f"--max_seq_length={max_seq_length}: the model was made for at most "
                         f"{config.max_position_embeddings} (max_position_embeddings of {bert_config_file})")
    return config


def read_tokenizer(vocab_file, do_lower_case, init_checkpoint, config):
    """The BertTokenizer of `--vocab_file`, checked against checkpoint and BertConfig; InputError names the flag."""
    paths.check_file("vocab_file", vocab_file)
    check_casing(do_lower_case, init_checkpoint)
    from bert_tf.tokenization import BertTokenizer  # TensorFlow Text takes seconds: checks come first

    tokenizer = BertTokenizer(vocab_file, lower_case=do_lower_case)
    if tokenizer.vocab_size > config.vocab_size:
        raise InputError(f"--vocab_file={vocab_file}: has {tokenizer.vocab_size} entries, the model has room for "
                         f"{config.vocab_size} (vocab_size of the BERT config): is it another model's vocabulary?")
    return tokenizer


def holds_run(output_dir):
    """Whether a folder holds checkpoints of a run."""
    return os.path.exists(os.path.join(output_dir, "checkpoint"))


def keep_config(output_dir, config):
    """Writes the model's bert_config.json into `--output_dir`; InputError if another model's run is there."""
    path = os.path.join(output_dir, "bert_config.json")
    if not (holds_run(output_dir) and os.path.exists(path)):
        with new_file(path) as file:
            file.write(config.to_json())
        return
    there = BertConfig.from_json_file(path)
    for name, value in config.to_dict().items():
        if there.to_dict()[name] != value:
            raise InputError(f"--output_dir={output_dir}: holds the run of another model, with {name} "
                             f"{there.to_dict()[name]}, and --bert_config_file says {value}; choose another folder")


def make_output_dir(output_dir):
    """Makes `--output_dir`; InputError if it is unset, remote, or a file."""
    if not output_dir:
        raise InputError("--output_dir is needed")
    if is_remote(output_dir):
        raise InputError(f"--output_dir={output_dir}: must be a local folder; copy it from there")
    if os.path.exists(output_dir) and not os.path.isdir(output_dir):
        raise InputError(f"--output_dir={output_dir}: is a file, a folder is needed")
    os.makedirs(output_dir, exist_ok=True)
