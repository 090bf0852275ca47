"""Peak memory and time of a BERT-Base training step at 8 x 512, activations kept or computed again.

    python -m benchmarks.recompute

Each has a process of its own, since a process' peak never falls.
"""

import pathlib
import resource
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))  # when run as a file

from absl import flags

from bert_tf.cli import script

FLAGS = flags.FLAGS


def define_flags():
    """Defines the benchmark's flags."""
    flags.DEFINE_integer("rounds", 3, "Steps that are timed.", lower_bound=1)
    flags.DEFINE_integer("batch_size", 8, "Examples in a step.", lower_bound=1)
    flags.DEFINE_integer("length", 512, "Tokens in an example.", lower_bound=40)
    flags.DEFINE_enum("measure", None, ["kept", "recomputed"], "Measure one of the two in this process; both, each "
                                                               "in its own, unless given.")


def main(argv):
    """Prints both measurements and their ratios, or one."""
    del argv
    if FLAGS.measure:
        print(*measure(FLAGS.measure == "recomputed", FLAGS.batch_size, FLAGS.length, FLAGS.rounds))
        return
    results = {}
    for name in ("kept", "recomputed"):
        command = [sys.executable, __file__, f"--measure={name}", f"--rounds={FLAGS.rounds}",
                   f"--batch_size={FLAGS.batch_size}", f"--length={FLAGS.length}"]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        results[name] = [float(value) for value in output.split()]
        print(f"activations {name:<11} peak {results[name][0]:6.2f} GB   step {results[name][1]:7.2f} s", flush=True)
    memory, seconds = (after / before for before, after in zip(*results.values(), strict=True))
    print(f"recomputing takes {memory:.2f} times the memory and {seconds:.2f} times the time")


def measure(recompute, batch_size, length, rounds):
    """Peak resident memory in GB and the median step in seconds."""

    from benchmarks import encoder as encoder_benchmark
    from bert_tf.config import BertConfig
    from bert_tf.models import BertEncoder

    config = BertConfig.from_name("base")
    features = encoder_benchmark.make_batch(config, batch_size, length)
    step = encoder_benchmark.our_step(BertEncoder(config, recompute_activations=recompute), features)
    times = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        step().numpy()
        times.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # kilobytes on Linux
    return peak, statistics.median(times[1:])


if __name__ == "__main__":
    script.run(main, define_flags)
