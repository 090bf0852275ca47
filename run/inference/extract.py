"""Extraction of contextual embeddings of each token of a text, from any layers of a BERT."""

import itertools

import numpy as np
import tensorflow as tf
from tqdm import tqdm

from bert_tf.checkpoints import load_pretrained
from bert_tf.errors import InputError
from bert_tf.fast import Fast, FastEncoder
from bert_tf.notes import write_line
from bert_tf.tokenization.model_inputs import join_rows
from run.inference import request_files, vector_files
from run.training import prediction, strategies
from run.training.padding import Padding
from run.training.settings import DTYPE_POLICIES

MEAN_TOKEN = "[MEAN]"
# Maximum memory for embeddings that wait to be reordered to the order of the input.
GROUP_BYTES = 1 << 29


@tf.autograph.experimental.do_not_convert  # Contains nothing to convert.
def run(settings):
    """Loads the model once, and processes the input group by group.

    Args:
      settings: ExtractionSettings, resolved.

    Raises:
      InputError: If a vocabulary, a checkpoint, or the pooling does not match the config, if
        devices do not exist, or if an embedding is not finite.
    """
    config = settings.model.config
    layers = settings.parse_layers(config.num_hidden_layers)
    if config.is_causal and settings.pooling == "cls":
        raise InputError(
            "with causal attention, [CLS] attends only to itself; set `pooling`=mean",
            "pooling",
            "cls",
        )
    # Must precede all TensorFlow computation.
    strategy = strategies.make_strategy(settings.devices, changes_weights=False)
    strategies.check_batch_size("batch_size", settings.requests.batch_size, strategy)
    strategies.warn_about_slow_precision(
        settings.compute.mixed_precision, strategies.device_type(strategy)
    )
    max_seq_length = settings.tokenizer.max_seq_length
    tokenizer = settings.tokenizer.read_tokenizer(settings.model.init_checkpoint, config)
    predictor = _make_predictor(settings, strategy, layers)
    batch_bytes = (
        4 * settings.requests.batch_size * max_seq_length * len(layers) * config.hidden_size
    )
    rows = extract(
        request_files.read_texts(settings.requests.input_file, settings.requests.options),
        tokenizer,
        predictor,
        max_seq_length,
        settings.requests.batch_size,
        max(1, GROUP_BYTES // batch_bytes),
    )
    num_rows = num_cut = 0
    with vector_files.FORMATS[settings.format](
        settings.output_file, layers, config.hidden_size
    ) as write:
        for pieces, vectors, was_cut in tqdm(
            rows, desc="extracting", unit="line", dynamic_ncols=True
        ):
            write(num_rows, *pool(pieces, vectors, settings.pooling))
            num_rows += 1
            num_cut += was_cut
    note = f"; {num_cut:,} truncated to --max_seq_length={max_seq_length}" if num_cut else ""
    print(
        f"{settings.output_file}: embeddings of {num_rows:,} lines, layers {settings.layers}{note}"
    )


def _make_predictor(settings, strategy, layers):
    """Loads the encoder, and creates the Predictor of "vectors", float32 [B, S, layers, H]."""
    padding = strategies.choose_padding(strategy)
    with strategy.scope():
        encoder = FastEncoder(
            settings.model.config,
            Fast(
                remove_padding=padding is Padding.REMOVED, one_hot=settings.use_one_hot_embeddings
            ),
            dtype=DTYPE_POLICIES[settings.compute.mixed_precision],
        )
    write_line(load_pretrained(encoder, settings.model.init_checkpoint))

    def compute(features, training=False):
        outputs = encoder(features, training=training)["encoder_outputs"]
        return {
            "vectors": tf.cast(tf.stack([outputs[layer] for layer in layers], axis=2), tf.float32)
        }

    return prediction.Predictor(
        strategy, compute, per_position=True, padding=padding, network=encoder
    )


def extract(texts, tokenizer, predictor, max_seq_length, batch_size, num_sorted_batches):
    """Extracts the embeddings of texts.

    Args:
      texts: Iterable of (text_a, text_b).
      tokenizer: BertTokenizer.
      predictor: run.training.prediction.Predictor of vectors, float32 [B, S, layers, H].
      max_seq_length: int. Maximum length of a text in tokens.
      batch_size: int. Texts per batch.
      num_sorted_batches: int. Number of batches of consecutive texts to sort by length together.

    Yields:
      For each text: its tokens, list of str; their embeddings, float32 [tokens, layers, H]; and
      bool, whether it was truncated.
    """
    texts = iter(texts)
    while group := list(itertools.islice(texts, num_sorted_batches * batch_size)):
        pieces = [tokenizer.tokenize(list(column)) for column in zip(*group, strict=True)]
        joined, was_cut = join_rows(
            tokenizer, *pieces, max_seq_length=max_seq_length, static_length=True
        )
        features = {name: values.numpy() for name, values in joined.items()}
        vectors = predictor(features, batch_size, "embedding")["vectors"]
        lengths = features["input_mask"].sum(axis=1)
        for ids, text_vectors, length, is_cut in zip(
            features["input_ids"], vectors, lengths, was_cut.numpy(), strict=True
        ):
            yield [tokenizer.vocabulary[id_] for id_ in ids[:length]], text_vectors[:length], is_cut


def pool(pieces, vectors, pooling):
    """Applies `--pooling` to the tokens of a line and their embeddings [tokens, layers, H].

    Raises:
      InputError: If an embedding is not finite.
    """
    if not np.isfinite(vectors).all():
        raise InputError(
            "the embeddings are not finite (NaN or infinity); choose another checkpoint, or "
            "compute in float32"
        )
    if pooling == "cls":
        return pieces[:1], vectors[:1]
    if pooling == "mean":
        return [MEAN_TOKEN], vectors.mean(axis=0, keepdims=True)
    return pieces, vectors
