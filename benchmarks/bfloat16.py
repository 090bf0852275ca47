"""SavedModels of BERT-Base in bfloat16, compared with float32 and PyTorch.

    python -m benchmarks.bfloat16

Measures from IDs to the encoder's output. Exports with --compute=float32 and --compute=bfloat16 are loaded again. The
peer is Hugging Face's BertModel on PyTorch in bfloat16, in its own process, if it is installed. All take turns. The
rate counts the encoder's matmuls. The share is the fraction of the rate of bfloat16 matmuls of 2048 x 2048 on this
machine, measured in turns with the models.
"""

import dataclasses
import functools
import os

import tensorflow as tf

from benchmarks import encoder as encoder_benchmark
from benchmarks import measurements, model_cache, peer_process
from benchmarks.flops import encoder_flops
from benchmarks.measurements import Comparison
from bert_tf import export
from bert_tf.cli import flags, paths, script
from bert_tf.cli.resolution import read_config
from bert_tf.cli.settings import setting
from bert_tf.fast import Fast, FastEncoder
from bert_tf.served_models import ServedEncoder
from bert_tf.tasks.metadata import TaskMetadata
from bert_tf.tokenization import BertTokenizer
from run.settings import DTYPE_POLICIES
from run.training import strategies

TYPES = ("float32", "bfloat16")
TORCH_PACKAGES = ("torch", "transformers")


@dataclasses.dataclass(frozen=True)
class Bfloat16Settings(model_cache.CachedModels):
    """Settings for the measurement."""

    bert_config_file: str = setting("base", "bert_config.json of the model, or the name of a published size.")
    vocab_file: str = setting(measurements.VOCAB_FILE, "Vocabulary of the exports. Defaults to that of the tests.")
    batch_sizes: tuple[str, ...] = setting(("1", "8"), "Batch sizes, each with every value of --lengths.")
    lengths: tuple[str, ...] = setting(("32", "128"), "Sequence length in tokens.")
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
    ours = {name: load_export(config, settings, name) for name in TYPES}
    with peer_process.start("PyTorch", TORCH_PACKAGES, "benchmarks.peers.torch_encoder",
                            encoder_benchmark.get_sizes(config)) as torch:
        comparisons = measure_shapes(config, settings, ours, torch, vocab_size)
    measurements.keep("bfloat16", settings, comparisons, left_out=[] if torch else ["PyTorch"])


def measure_shapes(config, settings, ours, torch, vocab_size):
    """Prints a row for each shape and returns the Comparisons; torch: PeerProcess or None."""
    names = (*TYPES, *(["PyTorch"] if torch else []))
    print(f"\n{'seconds, batch x length':<24}" + "".join(f"{name:>11}" for name in names)
          + f"{'float32/bfloat16':>18}{'GFLOP/s':>9}{'share':>7}")
    multiply = encoder_benchmark.make_product(tf.bfloat16)
    comparisons = []
    for batch_size, length in settings.shapes:
        features = encoder_benchmark.make_batch(config, batch_size, length, 1)
        ids = {name: features[name] for name in ("input_mask", "segment_ids")}
        ids["input_ids"] = features["input_ids"] % vocab_size
        calls = {name: functools.partial(answer, call, ids) for name, call in ours.items()}
        if torch:
            torch.call("prepare", encoder_benchmark.huggingface_inputs(ids))
            calls["PyTorch"] = functools.partial(torch.time, "answer")
        calls["product"] = lambda: multiply().numpy()
        rounds = encoder_benchmark.scale_rounds(settings.rounds, batch_size * length)
        times = measurements.medians(measurements.time_turns(calls, rounds, calls_before=1))
        print_row(f"{batch_size} x {length}", names, times, encoder_flops(config, batch_size, length))
        comparisons += compare(f"{batch_size} x {length} tokens", times)
    return comparisons


def load_export(config, settings, compute):
    """Returns the signature "ids" of an encoder exported to compute in a dtype and loaded again."""
    def create(directory):
        encoder = FastEncoder(config, Fast("unpadded"), dtype=DTYPE_POLICIES[compute])
        metadata = TaskMetadata("encoder", config.max_position_embeddings, True)
        export.save(ServedEncoder(encoder, BertTokenizer(settings.vocab_file), metadata), directory, weights=compute)

    key = [config.to_json(), model_cache.fingerprint_file(settings.vocab_file)]
    directory = model_cache.find_or_create(settings.models_dir, f"encoder_{compute}", key, create)
    return tf.saved_model.load(os.path.join(directory, "1")).signatures["ids"]


def answer(call, ids):
    """Waits for the output of an export."""
    call(**ids)["sequence_output"].numpy()


def print_row(name, names, times, flops):
    """Prints one line of the table."""
    rate = flops / times["bfloat16"] / 1e9
    machine = 2 * encoder_benchmark.PRODUCT_WIDTH**3 / times["product"] / 1e9
    print(f"{name:<24}" + "".join(f"{times[each]:>10.4f}s" for each in names)
          + f"{times['float32'] / times['bfloat16']:>18.2f}{rate:>9.0f}{rate / machine:>7.0%}", flush=True)


def compare(shape, times):
    """Creates the Comparisons of a shape."""
    theirs = {"this project in float32": times["float32"]}
    if "PyTorch" in times:
        theirs["PyTorch in bfloat16"] = times["PyTorch"]
    return [Comparison(f"Export in bfloat16, {shape}", peer, times["bfloat16"], seconds, "s", False)
            for peer, seconds in theirs.items()]


if __name__ == "__main__":
    script.run(main, define_flags)
