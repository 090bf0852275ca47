"""Embeddings of thousands of sentences, compared with sentence-transformers.

    python -m benchmarks.embeddings [--model=minilm --text_file=sentences.txt]

All read the same directory, take the mean of the last layer's outputs, and run in separate
processes. Three figures: sentences per second if all are embedded in one call; seconds from the
start of the process to the first embedding; peak memory.

sentence-transformers' backends for ONNX Runtime and OpenVINO require optimum.
"""

import dataclasses
import functools
import os
import tempfile
import time

import numpy as np

from benchmarks import exports, measurements, texts
from benchmarks.measurements import Results, time_turns
from benchmarks.peer_process import PeerError, PeerProcess
from bert_tf.checkpoints.conversion import convert
from bert_tf.checkpoints.tokenizers import TokenizerFiles
from bert_tf.cli import roles, script
from bert_tf.cli.settings import setting
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.models import BertEncoder
from bert_tf.tokenization import BertTokenizer

OWN_MODULE = "benchmarks.peers.own_embeddings"
PEER_MODULE = "benchmarks.peers.sentence_transformers_embeddings"
CHECKPOINT = "checkpoint"
OPENVINO = "OpenVINO model"
# Backend of sentence-transformers -> its name, and the packages that it requires.
BACKENDS = {
    "torch": ("PyTorch", ("torch", "sentence_transformers")),
    "onnx": ("ONNX Runtime", ("sentence_transformers", "optimum", "onnxruntime")),
    "openvino": ("OpenVINO", ("sentence_transformers", "optimum", "openvino")),
}
SIZES = {  # Of all-MiniLM-L6-v2.
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
}
MAX_DIFFERENCE = 1e-4  # Per number of an embedding: the order of additions differs.


@dataclasses.dataclass(frozen=True)
class EmbeddingSettings(measurements.BenchmarkSettings):
    """Settings for the model and the sentences."""

    model: str | None = setting(
        None,
        "Directory of an encoder that sentence-transformers reads, too. Defaults to random weights "
        "in the size of all-MiniLM-L6-v2.",
        role=roles.INPUT_FOLDER,
    )
    text_file: str | None = setting(
        None,
        "File with one sentence per line. Defaults to sentences of CPython's documentation.",
        role=roles.INPUT_FILE,
    )
    sentences: int = setting(2000, "Number of sentences.", min_value=1)
    batch_size: int = setting(32, "Number of sentences that are computed together.", min_value=1)
    max_seq_length: int = setting(
        128, "Length in tokens to which texts are truncated.", min_value=4
    )


@dataclasses.dataclass(frozen=True)
class Embedder:
    """A program that has answered a first request.

    Attributes:
      process: PeerProcess.
      seconds: float. Time from the start of the process to the first embedding.
    """

    process: PeerProcess
    seconds: float


COMMAND = script.Command(EmbeddingSettings(rounds=3), __name__)


def run(settings):
    """Starts the processes, and measures them in turns; settings: EmbeddingSettings."""
    sentences = texts.read_sentences(settings.text_file, settings.sentences)
    with tempfile.TemporaryDirectory() as folder, Results("embeddings", settings) as results:
        model = settings.model or write_model(folder, settings.max_seq_length)
        exported = exports.export_encoder(
            model, folder, "openvino", max_seq_length=settings.max_seq_length
        )
        start = functools.partial(start_embedder, results, sentences[0])
        ours = {
            CHECKPOINT: start(CHECKPOINT, (), OWN_MODULE, model, settings.max_seq_length),
            OPENVINO: start(OPENVINO, ("openvino",), OWN_MODULE, exported, None),
        }
        peers = {
            f"sentence-transformers, {name}": start(
                f"sentence-transformers, {name}",
                packages,
                PEER_MODULE,
                model,
                settings.max_seq_length,
                backend,
            )
            for backend, (name, packages) in BACKENDS.items()
        }
        peers = {name: peer for name, peer in peers.items() if peer}
        for name, embedder in ours.items():
            if embedder:
                measure(f"Embeddings, {name}", embedder, peers, sentences, settings, results)
                peers = {**peers, f"this project, {name}": embedder}


def write_model(folder, max_seq_length):
    """Writes an encoder with random weights in Hugging Face's format; returns its path."""
    tokenizer = BertTokenizer(measurements.VOCAB_FILE)
    config = BertConfig(tokenizer.vocab_size, max_position_embeddings=max_seq_length, **SIZES)
    written = os.path.join(folder, "written")
    BertEncoder(config).save_pretrained(written, tokenizer)
    path = os.path.join(folder, "model")
    files = TokenizerFiles(tokenizer.vocab_file, tokenizer.lower_case, None)
    convert(written, path, "huggingface", vocab_file=tokenizer.vocab_file, tokenizer=files)
    return path


def start_embedder(results, sentence, name, packages, module, *arguments):
    """Starts a program, and lets it embed a sentence; returns its Embedder, or None with a note."""
    start_time = time.perf_counter()
    process = results.start_peer(name, packages, module, *arguments)
    if process is None:
        return None
    try:
        process.call("embed", [sentence], 1)
    except PeerError as error:
        results.leave_out(name, error)
        return None
    return Embedder(process, time.perf_counter() - start_time)


def measure(title, ours, peers, sentences, settings, results):
    """Adds the comparisons of an Embedder with those of `peers`, a dict by name."""
    everyone = {"ours": ours, **peers}
    embeddings = {
        name: each.process.call("embed", sentences, settings.batch_size)
        for name, each in everyone.items()
    }
    for name, values in embeddings.items():
        difference = np.abs(values - embeddings["ours"]).max()
        if difference > MAX_DIFFERENCE:
            raise InputError(f"{name} computes other embeddings: the difference is {difference}")
    seconds = time_turns(
        {
            name: functools.partial(each.process.time, "embed", sentences, settings.batch_size)
            for name, each in everyone.items()
        },
        settings.rounds,
    )
    figures = {
        "sentences per second": {name: len(sentences) / seconds[name] for name in everyone},
        "s": {name: each.seconds for name, each in everyone.items()},
        "GB": {name: each.process.call("peak_memory") / 1e9 for name, each in everyone.items()},
    }
    subjects = {"sentences per second": "", "s": ", to the first", "GB": ", peak memory"}
    for unit, by_name in figures.items():
        own = by_name.pop("ours")
        results.add(f"{title}{subjects[unit]}", own, by_name, unit)


if __name__ == "__main__":
    COMMAND.run()
