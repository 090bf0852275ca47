"""Embeddings of thousands of sentences, compared with sentence-transformers.

    python -m benchmarks.embeddings [--model=minilm --text_file=sentences.txt]

All read the same directory, take the mean of the last layer's outputs, and run in separate
processes. Three figures: sentences per second if all are embedded in one call; seconds from the
start of the process to the first embedding; peak memory.

sentence-transformers' backends for ONNX Runtime and OpenVINO require optimum, which cannot be
installed next to the other peers: sentence-transformers 6 requires transformers 5, and optimum-onnx
0.1 requires transformers 4. --peer_python names the Python of another environment, with an earlier
sentence-transformers; see OPTIMUM_PACKAGES.
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

OUR_MODULE = "benchmarks.peers.own_embeddings"
PEER_MODULE = "benchmarks.peers.sentence_transformers_embeddings"
CHECKPOINT = "checkpoint"
OPTIMUM_PACKAGES = (
    "'sentence-transformers[onnx,openvino]==5.7.0' optimum-intel==1.27.0 optimum-onnx==0.1.0 "
    "onnxruntime==1.32.0 openvino==2026.4.1 torch==2.13.0 absl-py"
)
OPTIMUM_ADVICE = (
    "set --peer_python to the Python of another environment, after its pip install "
    + OPTIMUM_PACKAGES
)
# Backend of sentence-transformers -> its name, and the packages that it requires.
BACKENDS = {
    "torch": ("PyTorch", ("torch", "sentence_transformers")),
    "onnx": ("ONNX Runtime", ("sentence_transformers", "optimum", "onnxruntime")),
    "openvino": ("OpenVINO", ("sentence_transformers", "optimum", "openvino")),
}
# OpenVINO model of this project -> flags of its export.
OPENVINO_MODELS = {"OpenVINO model": {}, "OpenVINO model in int8": {"weights": "int8"}}
SIZES = {  # all-MiniLM-L6-v2.
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
}
# Per number of an embedding: the order of additions differs, and int8 rounds.
MAX_DIFFERENCE = 1e-4
MAX_INT8_DIFFERENCE = 0.3


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
    peer_python: str | None = setting(
        None,
        "Python of another environment, which runs sentence-transformers. Defaults to this Python.",
        role=roles.INPUT_FILE,
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
        model_path = settings.model or write_model(folder, settings.max_seq_length)
        start = functools.partial(start_embedder, results, sentences[0])
        ours = {CHECKPOINT: start(CHECKPOINT, (), OUR_MODULE, model_path, settings.max_seq_length)}
        for name, flags in OPENVINO_MODELS.items():
            exported = exports.export_encoder(
                model_path,
                os.path.join(folder, name),
                "openvino",
                max_seq_length=settings.max_seq_length,
                **flags,
            )
            ours[name] = start(name, ("openvino",), OUR_MODULE, exported, None)
        ours = {name: embedder for name, embedder in ours.items() if embedder}
        peers = start_peers(results, start, model_path, folder, settings)
        measure(ours, peers, sentences, settings, results)


def start_peers(results, start, model_path, folder, settings):
    """Starts each backend of sentence-transformers; returns a dict of name to Embedder."""
    peers = {}
    options = {"python": settings.peer_python}
    for backend, (name, packages) in BACKENDS.items():
        arguments = (f"sentence-transformers, {name}", packages, PEER_MODULE)
        path = model_path
        if "optimum" in packages:
            options["advice"] = OPTIMUM_ADVICE
            path = os.path.join(folder, backend)
            exporter = results.start_peer(
                *arguments, model_path, settings.max_seq_length, backend, **options
            )
            if exporter is None:
                continue
            exporter.call("save", path)
            exporter.close()
        embedder = start(*arguments, path, settings.max_seq_length, backend, **options)
        if embedder:
            version = embedder.process.call("version")
            peers[f"sentence-transformers {version}, {name}"] = embedder
    return peers


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


def start_embedder(results, sentence, name, packages, module, *arguments, **options):
    """Starts a program, and lets it embed a sentence; returns its Embedder, or None with a note."""
    start_time = time.perf_counter()
    process = results.start_peer(name, packages, module, *arguments, **options)
    if process is None:
        return None
    try:
        process.call("embed", [sentence], 1)
    except PeerError as error:
        results.leave_out(name, error)
        return None
    return Embedder(process, time.perf_counter() - start_time)


def measure(ours, peers, sentences, settings, results):
    """Adds the comparisons of each of `ours` with the earlier ones and the peers.

    Both are dicts of name to Embedder.
    """
    everyone = {**ours, **peers}
    check_embeddings(everyone, sentences, settings.batch_size)
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
    compared = {name: name for name in peers}  # Key of a figure -> name of the peer.
    for name in ours:
        for unit, by_name in figures.items():
            theirs = {peer: by_name[key] for key, peer in compared.items()}
            results.add(f"Embeddings, {name}{subjects[unit]}", by_name[name], theirs, unit)
        compared[name] = f"this project, {name}"


def check_embeddings(embedders, sentences, batch_size):
    """Raises InputError if programs, a dict of name to Embedder, compute other embeddings."""
    embeddings = {
        name: embedder.process.call("embed", sentences, batch_size)
        for name, embedder in embedders.items()
    }
    for name, values in embeddings.items():
        difference = np.abs(values - embeddings[CHECKPOINT]).max()
        is_int8 = OPENVINO_MODELS.get(name, {}).get("weights") == "int8"
        if is_int8:
            print(f"{name}: the embeddings differ by up to {difference:.2g}")
        if difference > (MAX_INT8_DIFFERENCE if is_int8 else MAX_DIFFERENCE):
            raise InputError(f"{name} computes other embeddings: the difference is {difference}")


if __name__ == "__main__":
    COMMAND.run()
