"""A model's attention to texts, its predictions, and its masked LM candidates for each token."""

import dataclasses

import numpy as np
import tensorflow as tf

from bert_tf.checkpoints import ModelDirectory
from bert_tf.features import FEATURES
from bert_tf.serving.checkpoint import detect_kind, load_servable
from bert_tf.tasks import KINDS, MaskedLM
from bert_tf.tokenization.unicode_rules import is_punctuation
from bert_tf.tokenization.vocabulary import SPECIAL_PIECES, SUFFIX_INDICATOR
from run.analysis import behaviors

TOP_K = 10  # Number of candidates per token of a masked LM, or of answers per question.
ROWS_AT_A_TIME = 32  # Copies of a text per batch, each with another token masked.


@dataclasses.dataclass(frozen=True)
class Observation:
    """A sequence and the model's attention to it.

    Legend: S sequence, WO words, LN heads of all layers, ME measures.

    Attributes:
      question: run.analysis.questions.Question.
      texts: List of str. The text, or the two texts, of this sequence.
      part: str. Name of this sequence if the question has several, otherwise "".
      was_cut: bool. Whether the text was truncated.
      pieces: List of S str. Tokens.
      segments: List of S int, 1 in the second text.
      words: int64 [S]. Index of each token's word.
      surfaces: List of W str. The joined tokens of each word.
      attention: float32 [LN, S, S].
      measures: float64 [LN, ME] of run.analysis.behaviors.MEASURES, NaN if no token has one.
      answer: Dict from Kind.rows, or None if the model has no task.
      candidates: List of S dicts, or None for [CLS] and [SEP]. Predictions of a masked LM if the
        token is masked: "own", the probability of the token itself, None for a [MASK]; "best", a
        list of (token, probability), most probable first. None if the model is not a masked LM.
    """

    question: object
    texts: list
    part: str
    was_cut: bool
    pieces: list
    segments: list
    words: np.ndarray
    surfaces: list
    attention: np.ndarray
    measures: np.ndarray
    answer: dict | None
    candidates: list | None


def compute_means(sums, counts):
    """Divides sums of measures [LN, ME] by numbers of tokens [ME].

    The result is float64 [LN, ME], NaN if no token has a measure. Over a corpus, the groups of
    texts and batch sizes change the last digits of the float64 sums.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(counts > 0, sums / counts, np.nan)


def _number_words(pieces):
    """Returns the 0-based number of the word of each of S tokens, int64 [S].

    [CLS] and [SEP] are separate words.
    """
    goes_on = [
        index > 0 and piece.startswith(SUFFIX_INDICATOR) and pieces[index - 1] not in SPECIAL_PIECES
        for index, piece in enumerate(pieces)
    ]
    return np.cumsum(~np.array(goes_on)) - 1


def _join_words(pieces, numbers):
    """Returns the joined tokens of each word, a list of str.

    `numbers`: int64 [S] from `_number_words`.
    """
    words = [""] * (numbers[-1] + 1)
    for number, piece in zip(numbers, pieces, strict=True):
        words[number] += piece.removeprefix(SUFFIX_INDICATOR) if words[number] else piece
    return words


class Observer:
    """A model to observe.

    Args:
      settings: ServingSettings with the groups `model` and `tokenizer`, resolved.

    Attributes:
      kind: str. Kind of the model as observed, a key of KINDS.
      metadata: TaskMetadata.
      tokenizer: BertTokenizer.
      encoder: BertEncoder.
      heads: List of (layer, head) of each matrix.
      is_punctuation: bool [V]. Whether a token is one punctuation mark.

    Raises:
      InputError: See bert_tf.serving.checkpoint.load_servable.
    """

    def __init__(self, settings):
        model_path = settings.model.init_checkpoint
        directory = ModelDirectory.open(model_path)
        kind = settings.served_task.kind
        if not settings.model_files.task_metadata:
            kind = detect_kind(directory, settings.config)
        # Not in task.json.
        may_be_none = bool(directory.run_settings.get("version_2_with_negative"))
        metadata = dataclasses.replace(
            settings.served_task,
            kind=kind,
            window_stride=None,  # A text is one sequence.
            version_2_with_negative=may_be_none,
            top_k=TOP_K,
        )
        self.servable = load_servable(
            **settings.servable_options | {"metadata": metadata}, remove_padding=False
        )
        self.metadata = self.servable.metadata
        self.kind = self.servable.kind
        self.tokenizer = self.servable.tokenizer
        self.encoder = getattr(self.servable.model, "encoder", self.servable.model)
        layers = [
            self.encoder.encoder_layers[number]
            for number in range(self.encoder.config.num_hidden_layers)
        ]
        sizes = [
            layer.attention_output.kernel.shape[0] // self.encoder.config.head_width
            for layer in layers
        ]
        self.heads = [(layer, head) for layer, size in enumerate(sizes) for head in range(size)]
        self.is_punctuation = tf.constant(
            [len(token) == 1 and is_punctuation(token) for token in self.tokenizer.vocabulary]
        )

    def __call__(self, question):
        """Yields the Observations of a Question.

        There is one, or one per window of a long context, or one per choice.
        """
        kind = KINDS[self.kind]
        features, was_cut = self.servable.encode(*(tf.constant([text]) for text in question.texts))
        was_cut = bool(tf.reduce_any(was_cut))
        answer = self.predict(question) if kind.is_fine_tuned else None
        rows = {name: tf.reshape(value, [-1, value.shape[-1]]) for name, value in features.items()}
        lengths = tf.reduce_sum(rows["input_mask"], axis=1).numpy()
        for row, length in enumerate(lengths):
            part = (
                "" if len(lengths) == 1 else f"{'choice' if question.choices else 'window'} {row}"
            )
            second = question.choices[row] if question.choices else question.text_b
            texts = [question.text_a] if second is None else [question.text_a, second]
            one = {name: value[row, tf.newaxis, :length] for name, value in rows.items()}
            yield self._observe(question, texts, part, was_cut, one, answer)

    def compute_attention(self, features):
        """Returns the attention probabilities of each layer, a list of float32 [B, N, S, S]."""
        attention = self.encoder(features, return_attention_scores=True)["attention"]
        return [tf.cast(each.probabilities, tf.float32) for each in attention]

    def sum_measures(self, attention, features):
        """Returns the sums of measures, float32 [LN, ME], and numbers of tokens [ME].

        `attention`: Result of `compute_attention`.
        """
        tokens = behaviors.Tokens.from_features(features, self.tokenizer, self.is_punctuation)
        sums = tf.concat([behaviors.sum_measures(each, tokens) for each in attention], axis=0)
        return sums, behaviors.count_measured_tokens(tokens)

    def predict(self, question):
        """Returns the prediction for a Question, a dict from Kind.rows."""
        kind = KINDS[self.kind]
        texts = [tf.constant([text]) for text in question.texts]
        if len(texts) == len(self.servable.text_inputs):
            outputs = self.servable.answer_texts(
                **dict(zip(self.servable.text_inputs, texts, strict=True))
            )
        else:  # A pair for a model of single texts, or vice versa.
            features, was_cut = self.servable.encode(*texts)
            outputs = {**self.servable.answer(features), "was_cut": was_cut}
        return kind.rows({name: value.numpy() for name, value in outputs.items()})[0]

    def _observe(self, question, texts, part, was_cut, features, answer):
        attention = self.compute_attention(features)
        sums, counts = (
            value.numpy().astype(np.float64) for value in self.sum_measures(attention, features)
        )
        ids, segments = (features[name][0].numpy() for name in ("input_ids", "segment_ids"))
        pieces = [self.tokenizer.vocabulary[id_] for id_ in ids]
        numbers = _number_words(pieces)
        return Observation(
            question,
            texts,
            part,
            was_cut,
            pieces,
            segments.tolist(),
            numbers,
            _join_words(pieces, numbers),
            tf.concat(attention, axis=1)[0].numpy(),
            compute_means(sums, counts),
            answer,
            self._compute_candidates(features),
        )

    def _compute_candidates(self, features):
        """Returns `Observation.candidates` for features int32 [1, S]."""
        if self.kind != MaskedLM.name:
            return None
        ids = features["input_ids"][0].numpy()
        positions = [
            position
            for position, id_ in enumerate(ids)
            if id_ not in (self.tokenizer.cls_id, self.tokenizer.sep_id)
        ]
        candidates = [None] * len(ids)
        for start in range(0, len(positions), ROWS_AT_A_TIME):
            rows = np.array(positions[start : start + ROWS_AT_A_TIME])
            masked = np.tile(ids, [len(rows), 1])
            masked[np.arange(len(rows)), rows] = self.tokenizer.mask_id
            repeated = {name: tf.repeat(features[name], len(rows), axis=0) for name in FEATURES}
            outputs = self.servable.model(
                {
                    **repeated,
                    "input_ids": tf.constant(masked),
                    "masked_lm_positions": tf.constant(rows[:, np.newaxis], tf.int32),
                }
            )
            logits = outputs["masked_lm_logits"][:, 0]  # [rows, V]
            chances = tf.nn.softmax(logits)[:, : self.tokenizer.vocab_size].numpy()
            order = np.argsort(-chances, axis=1, kind="stable")[:, :TOP_K]
            for position, row, numbers in zip(rows, chances, order, strict=True):
                own = None if ids[position] == self.tokenizer.mask_id else float(row[ids[position]])
                best = [(self.tokenizer.vocabulary[id_], float(row[id_])) for id_ in numbers]
                candidates[position] = {"own": own, "best": best}
        return candidates
