"""Servables of a toy model for each task, and a request of each, for tests of exports."""

from bert_tf import models
from bert_tf.config import BertConfig
from bert_tf.tasks import graphs
from bert_tf.tokenization import BertTokenizer
from tests.encoders import make_encoder

MAX_SEQ_LENGTH, TOP_K = 24, 3
PIECES = ("[PAD] [UNK] [CLS] [SEP] [MASK] the a dog fox ##es jump ##s over lazy mary shelley went to london in genoa "
          "and of it on read sleep ##ing is book quick brown wrote leigh hunt capital paris italy where did go . , ?")
CONFIG = BertConfig(len(PIECES.split()) + 2, 16, 1, 4, 28, max_position_embeddings=31, type_vocab_size=2,
                    initializer_range=0.5)


def make_model(name, **options):
    """The model of a task, with the same weights each time."""
    encoder = make_encoder(CONFIG, **options)
    return {"encoder": lambda: encoder,
            "classifier": lambda: models.BertClassifier(encoder, 3),
            "masked_lm": lambda: models.BertPretrainer(encoder),
            "tagger": lambda: models.BertTokenClassifier(encoder, 5),
            "choice": lambda: models.BertMultipleChoice(encoder),
            "squad": lambda: models.BertSpanLabeler(encoder)}[name]()


def make_servable(name, tokenizer, remove_padding=True, **options):
    model = make_model(name, remove_padding=remove_padding, last_where_read=True)  # as exports are made
    options = {"max_seq_length": MAX_SEQ_LENGTH, **options}
    return {"encoder": lambda: graphs.ServedEncoder(model, tokenizer, **options),
            "classifier": lambda: graphs.ServedClassifier(model, tokenizer, ["x", "y", "z"], pairs=True, **options),
            "masked_lm": lambda: graphs.ServedMaskedLM(model, tokenizer, top_k=TOP_K, **options),
            "tagger": lambda: graphs.ServedTokenClassifier(model, tokenizer, list("ABCDE"), **options),
            "choice": lambda: graphs.ServedMultipleChoice(model, tokenizer, **options),
            "squad": lambda: graphs.ServedSpanLabeler(model, tokenizer, max_query_length=6, doc_stride=4, **options),
            }[name]()


LONG = "the lazy dog jumps over the quick brown fox . " * 4
TEXTS = ["The dog, jumping.", "", LONG, "Mary SHELLEY went  to London"]
REQUESTS = {
    "encoder": {"text": TEXTS},
    "classifier": {"text_a": TEXTS, "text_b": ["a dog", "of", "it is " * 20, ""]},
    "masked_lm": {"text": ["the [MASK] is[MASK]", "no mask", "[MASK]", LONG + "[MASK]"]},
    "tagger": {"text": TEXTS},
    "choice": {"text_a": TEXTS, "choices": [["it sleeps", "a book"], ["", "to"], ["on", "it is " * 30], ["a", "dog"]]},
    "squad": {"question": ["where did it go", "?"], "context": [LONG, "Mary went to London."]},
}


def make_tokenizer(folder):
    """The BertTokenizer of PIECES; its vocabulary goes into a folder, a pathlib.Path."""
    path = folder / "vocab.txt"
    path.write_text("\n".join(PIECES.split()) + "\n")
    return BertTokenizer(str(path))
