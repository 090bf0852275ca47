"""Shows that transformers, sentence-transformers, and PEFT read what this project writes.

    python tests/reference/today/read_back.py write DIRECTORY  # with this project
    python tests/reference/today/read_back.py read DIRECTORY   # with the libraries

`write` trains small models, and saves their IDs and outputs next to them. `read` opens the
directories with the libraries, prints the largest difference of each, and fails if it exceeds 1e-5.
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
MODELS = HERE / "models"
TEXTS = ["the [E1]film was filmlike [E11]", "a good film", "not very long"]
ROWS = ["the [E1]film was good\tpos", "film was filmlike\tneg"] * 12
MASKED = ["a good [MASK] .", "[MASK] long"]
TOLERANCE = 1e-5


def write(folder):
    """Trains and converts the models, and writes expected.json."""
    sys.path.insert(0, str(HERE.parents[2]))
    import bert_tf
    from tests import scripts

    folder.mkdir(parents=True)
    (folder / "rows.tsv").write_text("\n".join(["text\tlabel", *ROWS]) + "\n")
    (folder / "tokens.txt").write_text("[E1]\nfilmlike\n")
    training = {
        "data_file": folder / "rows.tsv",
        "do_train": True,
        "max_seq_length": 12,
        "train_batch_size": 8,
    }

    def convert(name, source, **options):
        scripts.run_here(
            "run.convert_checkpoint",
            input=source,
            output=folder / name,
            format="huggingface",
            **options,
        )

    scripts.run_here(
        "run.run_classifier",
        init_checkpoint=MODELS / "added_tokens",
        output_dir=folder / "trained",
        added_tokens_file=folder / "tokens.txt",
        **training,
    )
    convert("added_tokens", folder / "trained")
    base = MODELS / "stale_vocab_txt"
    scripts.run_here(
        "run.run_classifier",
        init_checkpoint=base,
        output_dir=folder / "lora",
        lora_rank=2,
        learning_rate=1e-2,
        **training,
    )
    convert("merged", base, adapter=folder / "lora" / "adapter")
    convert("untied", MODELS / "untied_masked_lm")
    convert("encoder", MODELS / "st_normalized")

    expected = {}
    for name, model_class, texts in (
        ("added_tokens", bert_tf.BertClassifier, TEXTS),
        ("merged", bert_tf.BertClassifier, TEXTS),
        ("untied", bert_tf.BertPretrainer, MASKED),
        ("encoder", bert_tf.BertEncoder, TEXTS),
    ):
        source = {"added_tokens": folder / "trained", "merged": folder / "lora"}.get(
            name, folder / name
        )
        expected[name] = _compute(bert_tf, str(source), model_class, texts)
    sentences = bert_tf.load(str(folder / "encoder"), sentence_pooling="mean")
    expected["encoder"]["embeddings"] = sentences.encode(TEXTS).tolist()
    (folder / "expected.json").write_text(json.dumps(expected))


def _compute(bert_tf, source, model_class, texts):
    """Returns the IDs and the outputs of a model of this project for each text."""
    import numpy as np

    tokenizer = bert_tf.BertTokenizer.from_pretrained(source)
    model = model_class.from_pretrained(source)
    entry = {"texts": texts, "ids": [], "outputs": []}
    for text in texts:
        # The tokenizer, like the original's, has no token for a literal [MASK].
        pieces = [tokenizer.tokenize([part])[0].numpy() for part in text.split("[MASK]")]
        ids = pieces[0].tolist()
        for part in pieces[1:]:
            ids += [tokenizer.mask_id, *part.tolist()]
        ids = [tokenizer.cls_id, *ids, tokenizer.sep_id]
        features = {
            "input_ids": np.array([ids], np.int32),
            "input_mask": np.ones([1, len(ids)], np.int32),
            "segment_ids": np.zeros([1, len(ids)], np.int32),
        }
        if model_class is bert_tf.BertPretrainer:
            features["masked_lm_positions"] = np.arange(len(ids), dtype=np.int32)[np.newaxis]
        outputs = model(features)
        names = ("logits", "masked_lm_logits", "sequence_output")
        name = next(each for each in names if each in outputs)
        entry["ids"].append(ids)
        entry["outputs"].append(outputs[name][0].numpy().tolist())
    return entry


def read(folder):
    """Compares the libraries' results with expected.json."""
    import peft
    import transformers
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    transformers.logging.set_verbosity_error()
    expected = json.loads((folder / "expected.json").read_text())
    for name, auto_class in (
        ("added_tokens", "AutoModelForSequenceClassification"),
        ("merged", "AutoModelForSequenceClassification"),
        ("untied", "AutoModelForMaskedLM"),
        ("encoder", "AutoModel"),
    ):
        model = getattr(transformers, auto_class).from_pretrained(folder / name)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder / name)
        _compare(f"transformers, {name}", model, tokenizer, expected[name])

    base = MODELS / "stale_vocab_txt"
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        base, num_labels=2, ignore_mismatched_sizes=True
    )
    model = peft.PeftModel.from_pretrained(model, folder / "lora" / "adapter")
    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    _compare("PEFT, adapter", model, tokenizer, expected["merged"])
    model = peft.AutoPeftModelForSequenceClassification.from_pretrained(
        folder / "lora" / "adapter", num_labels=2, ignore_mismatched_sizes=True
    )
    _compare("PEFT, adapter alone", model, tokenizer, expected["merged"])

    transformer = Transformer(str(folder / "encoder"))
    modules = [transformer, Pooling(transformer.get_embedding_dimension(), "mean")]
    model = SentenceTransformer(modules=modules, device="cpu")
    found = model.encode(TEXTS, batch_size=1)
    _report("sentence-transformers, mean of encoder", found, expected["encoder"]["embeddings"])


def _compare(name, model, tokenizer, entry):
    """Compares the IDs and the outputs of a model with an entry of expected.json."""
    import torch

    found = []
    for text, ids in zip(entry["texts"], entry["ids"], strict=True):
        features = tokenizer(text, return_tensors="pt")
        if features["input_ids"][0].tolist() != ids:
            sys.exit(f"{name}: IDs of {text!r} are {features['input_ids'][0].tolist()}, not {ids}")
        with torch.no_grad():
            found.append(model.eval()(**features)[0][0].tolist())
    pairs = zip(found, entry["outputs"], strict=True)
    _report(name, *zip(*pairs, strict=True))


def _report(name, found, expected):
    """Prints the largest difference of two sequences of arrays; exits if it is too large."""
    import numpy as np

    differences = [
        np.abs(np.array(ours) - np.array(theirs)).max()
        for ours, theirs in zip(found, expected, strict=True)
    ]
    print(f"{name}: {len(differences)} texts, the largest difference is {max(differences):.1e}")
    if max(differences) > TOLERANCE:
        sys.exit(f"{name}: the difference exceeds {TOLERANCE}")


def main():
    step, folder = sys.argv[1:]
    {"write": write, "read": read}[step](pathlib.Path(folder).resolve())


if __name__ == "__main__":
    main()
