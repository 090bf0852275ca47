"""SavedModels of BERT-Base in bfloat16, compared with float32 and PyTorch.

    python -m benchmarks.bfloat16

Measures from IDs to the encoder's output. Exports with --mixed_precision=float32 and
--mixed_precision=bfloat16 are loaded again. The peer is Hugging Face's BertModel on PyTorch in
bfloat16, in its own process, if it is installed.
"""

import functools
import os
import tempfile

import tensorflow as tf

from benchmarks import measurements, models
from benchmarks.measurements import Results, time_turns
from bert_tf.cli import script
from bert_tf.cli.resolution import read_model_config
from bert_tf.fast import Fast, FastEncoder
from bert_tf.serving import saved_model
from bert_tf.tasks.encoder.graph import ServedEncoder
from bert_tf.tasks.metadata import TaskMetadata
from bert_tf.tokenization import BertTokenizer
from run.training import strategies
from run.training.settings import DTYPE_POLICIES

TORCH_PACKAGES = ("torch", "transformers")
COMMAND = script.Command(measurements.ShapeSettings(), __name__)


def run(settings):
    """Exports and measures; settings: ShapeSettings."""
    config = read_model_config(settings.bert_config_file, max(settings.lengths))
    tokenizer = BertTokenizer(measurements.VOCAB_FILE)
    if not strategies.has_bfloat16_instructions():
        print("note: this CPU has no instructions for bfloat16")
    exports = {dtype: load_export(config, tokenizer, dtype) for dtype in ("float32", "bfloat16")}
    with Results("bfloat16", settings) as results:
        torch = results.start_peer(
            "PyTorch",
            TORCH_PACKAGES,
            "benchmarks.peers.torch_encoder",
            models.get_huggingface_sizes(config),
        )
        for batch_size, length in settings.shapes:
            batch = models.make_batch(config, batch_size, length)
            features = {
                "input_ids": batch["input_ids"] % tokenizer.vocab_size,
                **{name: batch[name] for name in ("input_mask", "segment_ids")},
            }
            turns = {
                dtype: functools.partial(signature, **features)
                for dtype, signature in exports.items()
            }
            if torch:
                turns["PyTorch in bfloat16"] = functools.partial(
                    torch.time, "answer", models.to_huggingface_inputs(features)
                )
            times = time_turns(turns, settings.rounds, calls_before=1)
            ours = times.pop("bfloat16")
            float32 = times.pop("float32")
            results.add(
                f"Export in bfloat16, {batch_size} x {length} tokens",
                ours,
                {"this project in float32": float32, **times},
                "s",
            )


def load_export(config, tokenizer, dtype):
    """Exports an encoder with random weights, and loads the signature "ids" of the SavedModel."""
    encoder = FastEncoder(config, Fast(remove_padding=True), dtype=DTYPE_POLICIES[dtype])
    metadata = TaskMetadata("encoder", config.max_position_embeddings, True)
    with tempfile.TemporaryDirectory() as folder:
        path, _ = saved_model.save(
            ServedEncoder(encoder, tokenizer, metadata), os.path.join(folder, dtype), weights=dtype
        )
        return tf.saved_model.load(path).signatures["ids"]


if __name__ == "__main__":
    COMMAND.run()
