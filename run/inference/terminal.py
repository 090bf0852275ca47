"""The job of fill_mask and answer: predictions for texts from the terminal. Does not import TensorFlow."""

import itertools
import statistics
import sys
import time

from bert_tf.serving import open_model
from bert_tf.serving.exports import is_export
from bert_tf.tasks import MaskedLM
from bert_tf.tasks.masked_lm import MASK
from run.inference.settings import LATENCY_CALLS


def run(settings):
    """Loads the model once and queries it. `settings`: FillMaskSettings or AnswerSettings, resolved."""
    model = open_model(settings)
    if settings.task == MaskedLM.name:
        last = fill_masks(model, settings.texts or lines(), settings.top_k)
    else:
        last = answer_questions(model, settings.questions or lines(), settings.read_context(), settings.top_k)
    if settings.export.latency and last:
        report_latency(model, last)


def lines():
    """Yields the lines of standard input; drops invalid UTF-8 bytes, as the tokenizer does."""
    sys.stdin.reconfigure(errors="ignore")
    for line in sys.stdin:
        yield line.rstrip("\n")


def fill_masks(model, texts, top_k):
    """Prints the candidates for each [MASK] of each of `texts`; returns the last request, or None."""
    last = None
    for text in texts:
        print(text)
        if MASK not in text:  # The next line may be valid.
            print(f"  --text={text}: must contain {MASK}")
            continue
        last = {"text": [text]}
        outputs = model(**last)
        for mask in range(outputs["num_masks"][0]):
            candidates = zip(outputs["pieces"][0, mask], outputs["probabilities"][0, mask], strict=True)
            print("  " + "   ".join(f"{piece.decode()} {probability:.3f}"
                                    for piece, probability in itertools.islice(candidates, top_k)))
        if outputs["was_cut"][0]:
            print(f"  the text exceeds {_limit(model)} and was truncated, possibly including a {MASK}")
    return last


def answer_questions(model, questions, context, top_k):
    """Prints the answers to each of `questions` about `context`; returns the last request, or None."""
    last = None
    for question in questions:
        print(question)
        last = {"question": [question], "context": [context]}
        outputs = model(**last)
        text, start, end = (outputs[name][0] for name in ("answer", "start", "end"))
        print(f"  {text.decode()}  [{start}:{end}]" if end else "  no answer")
        candidates = [(candidate, score) for candidate, score in zip(
            outputs["answers"][0], outputs["scores"][0], strict=True) if candidate]
        for candidate, score in candidates[:top_k]:
            print(f"  {score:8.3f}  {candidate.decode()}")
        if outputs["was_cut"][0]:
            print(f"  the question or the context exceeds {_limit(model)} and was truncated")
    return last


def report_latency(model, request):
    """Prints the median latency of LATENCY_CALLS calls with a request."""
    seconds = []
    for _ in range(LATENCY_CALLS):
        start = time.perf_counter()
        model(**request)
        seconds.append(time.perf_counter() - start)
    print(f"latency: {statistics.median(seconds) * 1000:.1f} ms (median of {LATENCY_CALLS} requests)")


def _limit(model):
    """Returns what limits the length of a text: the flag for a checkpoint, or the export."""
    return f"the length of {model.place}" if is_export(model.place) else f"--max_seq_length={model.limit}"
