"""SavedModels of BERT-Base in bfloat16, compared with float32, tf-models-official, and PyTorch.

    python -m benchmarks.bfloat16

Measures from IDs to the encoder's output. Exports with --compute=float32 and --compute=bfloat16 are loaded again. The
peers are tf-models-official's encoder in float32 and, if torch and transformers are installed, their BertModel in
bfloat16. All take turns in one process. The rate counts the encoder's matmuls. The share is the fraction of the rate
of bfloat16 matmuls of 2048 x 2048 on this machine, measured in turns with the models.
"""

import dataclasses
import functools
import importlib.util
import os
import tempfile

import tensorflow as tf

from benchmarks import encoder as encoder_benchmark
from benchmarks import measurements
from benchmarks.measurements import Comparison
from bert_tf import export
from bert_tf.cli import flags, paths, script
from bert_tf.cli.resolution import read_config
from bert_tf.cli.settings import setting
from bert_tf.fast import Fast, FastEncoder
from bert_tf.tasks import graphs
from bert_tf.tokenization import BertTokenizer
from run.settings import DTYPE_POLICIES
from run.training import strategies, utilization

PRODUCT_WIDTH = 2048
TYPES = ("float32", "bfloat16")


@dataclasses.dataclass(frozen=True)
class Bfloat16Settings(measurements.KeptResults):
    """Settings for the measurement."""

    bert_config_file: str = setting("base", "bert_config.json of the model, or the name of a published size.")
    vocab_file: str = setting(measurements.VOCAB_FILE, "Vocabulary of the exports. Defaults to that of the tests.")
    batch_sizes: tuple[str, ...] = setting(("1", "1", "8"), "Batch sizes, each with every value of --lengths.")
    lengths: tuple[str, ...] = setting(("32", "128", "128"), "Sequence length in tokens.")
    rounds: int = setting(5, "Number of turns; more for small batches.", lower=1)

    def check(self):
        """See Settings."""
        measurements.shapes(self.batch_sizes, self.lengths)

    @property
    def shapes(self):
        """Batch size and length of each measurement."""
        return measurements.shapes(self.batch_sizes, self.lengths)


def define_flags():
    """Defines the benchmark's flags."""
    flags.define(Bfloat16Settings())


def main(argv):
    """Runs the benchmark with the settings from its flags."""
    del argv
    measure(flags.read(Bfloat16Settings()))


def measure(settings):
    """Exports, prints a row for each shape, and stores the comparisons; settings: Bfloat16Settings."""
    paths.check_file("vocab_file", settings.vocab_file)
    vocab_size = BertTokenizer(settings.vocab_file).vocab_size
    config = read_config(settings.bert_config_file, max(length for _, length in settings.shapes))
    has_instructions = "" if strategies.has_bfloat16_instructions() else ", which has no instructions for bfloat16"
    print(f"TensorFlow {tf.__version__}, {os.cpu_count()} cores{has_instructions}")
    torch_call = make_torch(config)
    if torch_call is None:
        print("PyTorch is not installed, so it is skipped: pip install -e '.[peers]'")
    peer = encoder_benchmark.garden_encoder(config)
    official = tf.function(lambda inputs: peer(inputs)["sequence_output"], autograph=False)
    with tempfile.TemporaryDirectory() as folder:
        ours = {name: load_export(config, settings.vocab_file, name, folder) for name in TYPES}
    names = (*TYPES, "official", *(["PyTorch"] if torch_call else []))
    print(f"\n{'seconds, batch x length':<24}" + "".join(f"{name:>11}" for name in names)
          + f"{'float32/bfloat16':>18}{'official/bfloat16':>19}{'GFLOP/s':>9}{'share':>7}")
    comparisons = []
    for batch_size, length in settings.shapes:
        features = encoder_benchmark.make_batch(config, batch_size, length, 1)
        ids = {name: features[name] for name in ("input_mask", "segment_ids")}
        ids["input_ids"] = features["input_ids"] % vocab_size
        calls = {name: functools.partial(answer, call, ids) for name, call in ours.items()}
        calls["official"] = functools.partial(finish, official, encoder_benchmark.garden_inputs(features))
        if torch_call:
            calls["PyTorch"] = torch_call(ids)
        calls["product"] = make_product()
        rounds = settings.rounds * max(1, 1024 // (batch_size * length))
        times = measurements.medians(measurements.time_turns(calls, rounds, calls_before=1))
        print_row(f"{batch_size} x {length}", names, times, utilization.encoder_flops(config, batch_size, length))
        comparisons += compare(f"{batch_size} x {length} tokens", times)
    measurements.keep("bfloat16", settings, comparisons, left_out=[] if torch_call else ["PyTorch"])


def load_export(config, vocab_file, compute, folder):
    """Returns the signature "ids" of an encoder exported to compute in a dtype and loaded again."""
    encoder = FastEncoder(config, Fast(remove_padding=True), dtype=DTYPE_POLICIES[compute])
    servable = graphs.ServedEncoder(encoder, BertTokenizer(vocab_file), max_seq_length=config.max_position_embeddings)
    path, _ = export.save(servable, os.path.join(folder, compute), weights=compute)
    return tf.saved_model.load(path).signatures["ids"]


def answer(call, ids):
    """Waits for the output of an export."""
    call(**ids)["sequence_output"].numpy()


def finish(call, inputs):
    """Waits for the output of a traced function."""
    call(inputs).numpy()


def make_product():
    """Creates a function that multiplies two square matrices in bfloat16."""
    matrix = tf.cast(tf.random.stateless_normal([PRODUCT_WIDTH] * 2, (1, 2)), tf.bfloat16)
    multiply = tf.function(lambda: tf.matmul(matrix, matrix)[0, 0], autograph=False)
    return lambda: multiply().numpy()


def make_torch(config):
    """Returns a function from IDs to a call of PyTorch's BertModel in bfloat16, or None if it is not installed."""
    if not all(map(importlib.util.find_spec, ("torch", "transformers"))):
        return None
    import torch
    import transformers

    size = {name: getattr(config, name) for name in (
        "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")}
    model = transformers.BertModel(transformers.BertConfig(**size)).to(torch.bfloat16).eval()

    def make_call(ids):
        inputs = {theirs: torch.from_numpy(ids[name].numpy()).long() for theirs, name in (
            ("input_ids", "input_ids"), ("attention_mask", "input_mask"), ("token_type_ids", "segment_ids"))}

        def call():
            with torch.inference_mode():
                model(**inputs)
        return call

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    return make_call


def print_row(name, names, times, flops):
    """Prints one line of the table."""
    rate = flops / times["bfloat16"] / 1e9
    machine = 2 * PRODUCT_WIDTH**3 / times["product"] / 1e9
    print(f"{name:<24}" + "".join(f"{times[each]:>10.4f}s" for each in names)
          + f"{times['float32'] / times['bfloat16']:>18.2f}{times['official'] / times['bfloat16']:>19.2f}"
          f"{rate:>9.0f}{rate / machine:>7.0%}", flush=True)


def compare(shape, times):
    """Creates the Comparisons of a shape."""
    theirs = {"this project in float32": times["float32"], "tf-models-official in float32": times["official"]}
    if "PyTorch" in times:
        theirs["PyTorch in bfloat16"] = times["PyTorch"]
    return [Comparison(f"Export in bfloat16, {shape}", peer, times["bfloat16"], seconds, "s", False)
            for peer, seconds in theirs.items()]


if __name__ == "__main__":
    script.run(main, define_flags)
