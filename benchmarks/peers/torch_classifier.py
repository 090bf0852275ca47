"""Fine-tuning of a text classifier with Hugging Face's transformers on PyTorch.

It is like their Trainer with its defaults. A batch is padded to its longest text. The optimizer is
AdamW with weight decay 0.01, linear warmup and decay, and clipping at norm 1. bfloat16 is PyTorch's
autocast.
"""

import contextlib
import os

import torch
import transformers

WEIGHT_DECAY = 0.01
CLIPPING_NORM = 1.0
WARMUP = 0.1  # The default of run_classifier.


class Peer:
    """The trainer."""

    def train(self, model_path, training, development, options):
        """Fine-tunes a model and returns its predictions for the development set.

        Args:
          model_path: str. Directory of Hugging Face.
          training, development: LabeledTexts.
          options: Dict of the options in `benchmarks.fine_tuning.run_peer`.

        Returns:
          List of int. Predicted labels.
        """
        torch.set_num_threads(len(os.sched_getaffinity(0)))
        torch.manual_seed(options["random_seed"])
        tokenizer = transformers.AutoTokenizer.from_pretrained(model_path)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(
            model_path, num_labels=options["num_labels"]
        )
        batches = load_batches(training, tokenizer, options, shuffle=True)
        optimizer = create_optimizer(model, options["learning_rate"])
        steps = int(options["num_train_epochs"] * len(batches))
        schedule = transformers.get_linear_schedule_with_warmup(
            optimizer, int(WARMUP * steps), steps
        )
        if options["dtype"] == "bfloat16":
            use_dtype = torch.autocast("cpu", torch.bfloat16)
        else:
            use_dtype = contextlib.nullcontext()
        model.train()
        while steps:
            for batch in batches:
                with use_dtype:
                    loss = model(**batch).loss
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), CLIPPING_NORM)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
                steps -= 1
                if not steps:
                    break
        model.eval()
        predictions = []
        with torch.inference_mode(), use_dtype:
            for batch in load_batches(development, tokenizer, options, shuffle=False):
                predictions += model(**batch).logits.argmax(-1).tolist()
        return predictions


def load_batches(rows, tokenizer, options, shuffle):
    """Creates the DataLoader of LabeledTexts; for `options`, see `Peer.train`."""
    encoded = tokenizer(
        rows.text_a, rows.text_b, truncation=True, max_length=options["max_seq_length"]
    )
    examples = [
        {**{name: values[index] for name, values in encoded.items()}, "labels": label}
        for index, label in enumerate(rows.labels)
    ]
    collate = transformers.DataCollatorWithPadding(tokenizer)
    return torch.utils.data.DataLoader(
        examples, options["train_batch_size"], shuffle, collate_fn=collate
    )


def create_optimizer(model, learning_rate):
    """Creates AdamW without weight decay for vectors, such as biases and LayerNorm."""
    vectors = [value for value in model.parameters() if value.ndim < 2]
    matrices = [value for value in model.parameters() if value.ndim >= 2]
    return torch.optim.AdamW(
        [
            {"params": vectors, "weight_decay": 0.0},
            {"params": matrices, "weight_decay": WEIGHT_DECAY},
        ],
        learning_rate,
    )
