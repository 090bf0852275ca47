"""A served BERT-Base classifier, raw text to answer, beside tf-models-official's and beside our own model in Python.

    python -m benchmarks.serving [--text_file=sentences.txt]

Both are SavedModels with random weights, loaded the way a Python client loads them, and take turns in one process on
the same sentences. tf-models-official's is exported as its own export scripts do: TensorFlow Text's BertTokenizer,
packed by BertPackInputs to 128 columns, networks.BertEncoder and models.BertClassifier. The table gives the median
(p50) and the 99th percentile (p99) of the time of an answer.
"""

import collections
import concurrent.futures
import os
import pathlib
import string
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))  # when run as a file

from absl import flags

from bert_tf.cli import paths, script

FLAGS = flags.FLAGS

MAX_SEQ_LENGTH = 128
NUM_LABELS = 2
BATCH_SIZES = (1, 8, 32)

# Sentences of 4 to 45 words, as in movie reviews and news.
TEXT = ("the film is a slow and lovely story of two old friends who meet again after many years in a small town by "
        "the sea and find that time has changed them less than the place where they were young and poor")
LENGTHS = (4, 19, 9, 31, 14, 23, 6, 38, 11, 17, 27, 8, 45, 13, 21, 5)


def define_flags():
    """Defines the benchmark's flags."""
    flags.DEFINE_string("text_file", None, "One sentence a line; unset means made-up ones of 4 to 45 words.")
    flags.DEFINE_string("vocab_file", None, "A vocab.txt; unset means one of the words of the sentences.")
    flags.DEFINE_integer(
        "rounds", 20, "How often each answers one sentence, and at least 5 times a batch.", lower_bound=1)
    flags.DEFINE_integer("num_hidden_layers", 12, "Layers of the model; 12 is BERT-Base.", lower_bound=1)
    flags.DEFINE_integer("threads", 8, "Concurrent callers.", lower_bound=1)


def main(argv):
    """Exports both models, then prints the tables."""
    del argv
    import tensorflow as tf

    from bert_tf.config import BertConfig

    config = BertConfig(30522, num_hidden_layers=FLAGS.num_hidden_layers, type_vocab_size=2)
    texts = read_sentences(FLAGS.text_file)
    with tempfile.TemporaryDirectory() as folder:
        vocab_file = FLAGS.vocab_file or write_vocabulary(folder, texts)
        callers, python_call = make_callers(config, vocab_file, folder)
        print(f"TensorFlow {tf.__version__}, {os.cpu_count()} cores, {config.num_hidden_layers} layers")
        measure_latency({**callers, "Python": python_call}, texts, FLAGS.rounds)
        measure_concurrency(callers["ours"], texts, FLAGS.threads, FLAGS.rounds)
        print_fused_operations(os.path.join(folder, "ours", "1"), texts[:1])


def read_sentences(path):
    """The non-empty lines of a file, or sentences of LENGTHS words."""
    if path:
        paths.check_file("text_file", path)
        lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
        return [line for line in lines if line.strip()][: max(BATCH_SIZES)]
    words = TEXT.split() * 3
    return [" ".join(words[start : start + length]) + "." for start, length in enumerate(LENGTHS * 2)]


def write_vocabulary(folder, texts):
    """A vocabulary of the words of the sentences and of single letters; returns its path."""
    words = {word.strip(".,") for text in texts for word in text.lower().split()}
    letters = string.ascii_lowercase
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ",", *letters, *(f"##{letter}" for letter in letters),
              *sorted(words - {""})]
    path = os.path.join(folder, "vocab.txt")
    pathlib.Path(path).write_text("\n".join(dict.fromkeys(pieces)) + "\n", encoding="utf-8")
    return path


def make_callers(config, vocab_file, folder):
    """({"ours", "padding kept", "official"} -> exported signature, the same of our model in Python)."""
    import tensorflow as tf

    from bert_tf import export, models
    from bert_tf.tokenization import BertTokenizer

    tokenizer = BertTokenizer(vocab_file)
    callers = {}
    for name, remove_padding in (("ours", True), ("padding kept", False)):
        model = models.BertClassifier(models.BertEncoder(config, remove_padding=remove_padding), NUM_LABELS)
        servable = export.ServedClassifier(model, tokenizer, ["no", "yes"], max_seq_length=MAX_SEQ_LENGTH)
        path, _ = export.save(servable, os.path.join(folder, name))
        callers[name] = tf.saved_model.load(path).signatures["serving_default"]
    callers["official"] = export_official(config, vocab_file, os.path.join(folder, "official"))

    @tf.function(reduce_retracing=True)
    def predict(features):
        return tf.nn.softmax(model(features)["logits"])

    def python_call(text):
        return {"probabilities": predict(tokenizer.encode(text, max_seq_length=MAX_SEQ_LENGTH))}
    return callers, python_call


def export_official(config, vocab_file, path):
    """tf-models-official's classifier on TensorFlow Text's preprocessing, as a SavedModel; its signature."""
    import tensorflow as tf
    from official.nlp.modeling import layers, models

    from benchmarks import encoder

    classifier = models.BertClassifier(encoder.garden_encoder(config), NUM_LABELS)
    tokenize = layers.BertTokenizer(vocab_file=vocab_file, lower_case=True)
    packer = layers.BertPackInputs(MAX_SEQ_LENGTH, special_tokens_dict=tokenize.get_special_tokens_dict())

    class Served(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")])
        def serve(self, text):
            logits = self.classifier(self.packer([self.tokenize(text)]), training=False)
            return {"probabilities": tf.nn.softmax(logits)}

    module = Served()
    module.classifier, module.tokenize, module.packer = classifier, tokenize, packer
    tf.saved_model.save(module, path, signatures=module.serve)
    return tf.saved_model.load(path).signatures["serving_default"]


def measure_latency(callers, texts, rounds):
    """p50 and p99 in milliseconds of each caller at each batch size, and the ratio to ours."""
    import numpy as np
    import tensorflow as tf

    print(f"\n{'raw text to answer, ms':<26}" + "".join(f"{name + ' p50':>18}{'p99':>9}" for name in callers)
          + f"{'official/ours':>15}")
    for batch_size in BATCH_SIZES:
        # A single sentence is each of the sentences in turn.
        batches = [tf.constant(texts[start : start + batch_size]) for start in range(0, max(BATCH_SIZES), batch_size)]
        count = max(5, rounds // batch_size)
        times = {name: [] for name in callers}
        for number in range(-1, count):
            for name, call in callers.items():
                batch = batches[number % len(batches)]
                start = time.perf_counter()
                call(text=batch)["probabilities"].numpy()
                if number >= 0:  # the first round warms up
                    times[name].append((time.perf_counter() - start) * 1000)
        middle = {name: np.median(each) for name, each in times.items()}
        print(f"{f'{batch_size} sentences':<26}" + "".join(
            f"{middle[name]:>18.1f}{np.percentile(each, 99):>9.1f}" for name, each in times.items())
            + f"{middle['official'] / middle['ours']:>15.2f}", flush=True)


def measure_concurrency(call, texts, threads, rounds):
    """Sentences a second by one caller and by several at a time; every answer is compared with that of one caller."""
    import numpy as np
    import tensorflow as tf

    sentences = [tf.constant([text]) for text in texts] * max(1, rounds // len(texts) + 1)

    def answer(sentence):
        return call(text=sentence)["probabilities"].numpy()

    rates, answers = {}, {}
    for callers in (1, threads):
        with concurrent.futures.ThreadPoolExecutor(callers) as pool:
            start = time.perf_counter()
            answers[callers] = list(pool.map(answer, sentences))
            rates[callers] = len(sentences) / (time.perf_counter() - start)
    difference = np.abs(np.array(answers[1]) - np.array(answers[threads])).max()
    print(f"\n{threads} callers at a time: {rates[threads]:.1f} sentences a second, one caller {rates[1]:.1f} "
          f"({rates[threads] / rates[1]:.2f} times); their answers differ by at most {difference:.1e}")


def print_fused_operations(path, texts):
    """Which matrix products TensorFlow fused with their bias and activation, in a session as the server runs one."""
    import tensorflow as tf

    metadata = tf.compat.v1.RunMetadata()
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        signature = tf.compat.v1.saved_model.load(session, ["serve"], path).signature_def["serving_default"]
        session.run(signature.outputs["probabilities"].name, {signature.inputs["text"].name: texts},
                    tf.compat.v1.RunOptions(output_partition_graphs=True), metadata)
    kinds = collections.Counter()
    for node in (node for graph in metadata.partition_graphs for node in graph.node):
        if node.op.endswith("FusedMatMul") and "Batch" not in node.op:  # oneDNN's has a prefix
            kinds["with " + "+".join(name.decode() for name in node.attr["fused_ops"].list.s)] += 1
        elif node.op in ("MatMul", "_MklMatMul"):
            kinds["alone"] += 1
    print("matrix products with weights in the optimised graph: "
          + ", ".join(f"{count} {kind}" for kind, count in kinds.items()))


if __name__ == "__main__":
    script.run(main, define_flags)
