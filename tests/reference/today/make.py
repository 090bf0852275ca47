"""Writes small model directories with today's libraries, and the numbers that they compute.

    python tests/reference/today/make.py            # transformers, sentence-transformers, PEFT
    python tests/reference/today/make.py keras_hub  # KerasHub, which requires TensorFlow

Each case is a directory in models/, and an entry in expected.json: the texts, their IDs, and the
outputs. `tests/reference/README.md` has the versions. The weights are random. The tests read only
the results, so they require none of these libraries.
"""

import json
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).parent
MODELS = HERE / "models"
TEXTS = ["a good film", "the film was not very good , and too long .", "Das wär schön!"]
PAIRS = [["a good film", "it was very good"], ["not long", "the film was long and bad"]]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = "a the film was is it not very good bad too long and in das war schon Das film##s"
PIECES = ["##s", "##ly", "##är", "##!", "##n", "sch", "w", "[unused1]", ",", ".", "!", "?", "-"]
CHINESE = [*"我爱北京天安门好电影不长", ",", "。", "good", "film"]
LABELS = {0: "neg", 1: "pos", 2: "mixed"}
CASES = {}
KERAS_HUB_CASES = {}


def case(function):
    """Registers a function (folder) -> entry of expected.json under its name."""
    CASES[function.__name__] = function
    return function


def keras_hub_case(function):
    """Registers a function like `case`, for KerasHub."""
    KERAS_HUB_CASES[function.__name__] = function
    return function


def make_vocabulary(extra=(), cased=False):
    """Returns a dict of token to ID."""
    words = SPECIAL + WORDS.split() + PIECES + list(extra)
    if cased:
        words += ["A", "The", "Not", "schön"]
    return {word: number for number, word in enumerate(dict.fromkeys(words))}


def make_tokenizer(vocabulary=None, **options):
    """Creates a BertTokenizer."""
    from transformers import BertTokenizer

    vocabulary = vocabulary or make_vocabulary()
    return BertTokenizer(vocab=vocabulary, model_max_length=48, **options)


def make_config(vocabulary, **options):
    """Creates a BertConfig whose sizes differ pairwise."""
    from transformers import BertConfig

    sizes = {
        "vocab_size": len(vocabulary),
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "max_position_embeddings": 48,
        "initializer_range": 0.3,
    }
    return BertConfig(**sizes | options)


def make_model(name, config, seed=1):
    """Creates a model of a class of transformers with random weights, no bias of which is 0."""
    import torch
    import transformers

    torch.manual_seed(seed)
    model = getattr(transformers, name)(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def save(folder, model, tokenizer):
    """Writes both with save_pretrained."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def edit(path, **values):
    """Changes values of a JSON file."""
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | values, indent=2) + "\n")


def compute(folder, name, texts=TEXTS, text_b=None, model=None):
    """Computes IDs and logits with a directory as transformers opens it.

    Args:
      folder: pathlib.Path of the directory.
      name: Auto class of transformers.
      texts, text_b: Lists of str.
      model: Model to use instead of the directory's, or None.
    """
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    if model is None:
        model = getattr(transformers, name).from_pretrained(folder)
    model = model.eval()
    entry = {"text_a": texts, "ids": []}
    if text_b:
        entry["text_b"] = text_b
    outputs = {}
    for index, text in enumerate(texts):
        pair = (text, text_b[index]) if text_b else (text,)
        features = tokenizer(*pair, return_tensors="pt", truncation=True, max_length=48)
        entry["ids"].append(features["input_ids"][0].tolist())
        with torch.no_grad():
            result = model(**features)
        for key in ("logits", "start_logits", "end_logits", "last_hidden_state"):
            if key in result:
                outputs.setdefault(key, []).append(to_list(result[key][0]))
    return entry | outputs


def to_list(tensor):
    """Rounds a tensor for JSON."""
    return json.loads(json.dumps(tensor.tolist()), parse_float=lambda text: round(float(text), 6))


@case
def cased_classifier(folder):
    """Three labels; a tokenizer that keeps case and accents."""
    vocabulary = make_vocabulary(cased=True)
    config = make_config(vocabulary, id2label=LABELS)
    save(
        folder,
        make_model("BertForSequenceClassification", config),
        make_tokenizer(vocabulary, do_lower_case=False),
    )
    return compute(folder, "AutoModelForSequenceClassification")


@case
def chinese_tagger(folder):
    """Token classification of Chinese text."""
    vocabulary = {word: number for number, word in enumerate(SPECIAL + CHINESE)}
    config = make_config(vocabulary, id2label={0: "O", 1: "B-LOC", 2: "I-LOC"})
    save(folder, make_model("BertForTokenClassification", config), make_tokenizer(vocabulary))
    texts = ["我爱北京天安门。", "good 电影, 不长"]
    return compute(folder, "AutoModelForTokenClassification", texts)


@case
def multi_label(folder):
    """Independent labels, for pairs of texts."""
    vocabulary = make_vocabulary()
    config = make_config(vocabulary, id2label=LABELS, problem_type="multi_label_classification")
    save(folder, make_model("BertForSequenceClassification", config), make_tokenizer(vocabulary))
    text_a, text_b = map(list, zip(*PAIRS, strict=True))
    return compute(folder, "AutoModelForSequenceClassification", text_a, text_b)


@case
def question_answering(folder):
    """Start and end logits; the position of a pair's second text counts."""
    vocabulary = make_vocabulary()
    model = make_model("BertForQuestionAnswering", make_config(vocabulary))
    save(folder, model, make_tokenizer(vocabulary))
    text_a, text_b = map(list, zip(*PAIRS, strict=True))
    return compute(folder, "AutoModelForQuestionAnswering", text_a, text_b)


@case
def regression(folder):
    """One output without an activation."""
    vocabulary = make_vocabulary()
    config = make_config(vocabulary, num_labels=1, problem_type="regression")
    save(folder, make_model("BertForSequenceClassification", config), make_tokenizer(vocabulary))
    return compute(folder, "AutoModelForSequenceClassification")


@case
def tied_masked_lm(folder):
    """A masked LM as transformers writes it."""
    vocabulary = make_vocabulary()
    model = make_model("BertForMaskedLM", make_config(vocabulary))
    save(folder, model, make_tokenizer(vocabulary))
    return compute(folder, "AutoModelForMaskedLM", ["a good [MASK] .", "[MASK] long"])


@case
def untied_masked_lm(folder):
    """A masked LM whose output kernel and bias are its own."""
    vocabulary = make_vocabulary()
    model = make_model("BertForMaskedLM", make_config(vocabulary, tie_word_embeddings=False))
    save(folder, model, make_tokenizer(vocabulary))
    return compute(folder, "AutoModelForMaskedLM", ["a good [MASK] .", "[MASK] long"])


@case
def integer_names(folder):
    """id2label has numbers as names, as after training with integer labels."""
    vocabulary = make_vocabulary()
    config = make_config(vocabulary, id2label=LABELS)
    save(folder, make_model("BertForSequenceClassification", config), make_tokenizer(vocabulary))
    edit(
        folder / "config.json",
        id2label={"0": 0, "1": 1, "2": 2},
        label2id={"0": 0, "1": 1, "2": 2},
    )
    return compute(folder, "AutoModelForSequenceClassification")


@case
def pruned_heads(folder):
    """transformers 5 ignores pruned_heads: the matrices are full."""
    vocabulary = make_vocabulary()
    config = make_config(vocabulary, id2label=LABELS)
    save(folder, make_model("BertForSequenceClassification", config), make_tokenizer(vocabulary))
    edit(folder / "config.json", pruned_heads={"0": [1], "1": [0]})
    return compute(folder, "AutoModelForSequenceClassification")


@case
def stale_vocab_txt(folder):
    """A vocab.txt of another tokenizer was left next to tokenizer.json."""
    vocabulary = make_vocabulary()
    config = make_config(vocabulary, id2label=LABELS)
    save(folder, make_model("BertForSequenceClassification", config), make_tokenizer(vocabulary))
    (folder / "vocab.txt").write_text("\n".join([*SPECIAL, *sorted(WORDS.split() + PIECES)]) + "\n")
    return compute(folder, "AutoModelForSequenceClassification")


@case
def class_before_file(folder):
    """With the class BertTokenizer, only the vocabulary of tokenizer.json counts."""
    vocabulary = make_vocabulary()
    config = make_config(vocabulary, id2label=LABELS)
    save(folder, make_model("BertForSequenceClassification", config), make_tokenizer(vocabulary))
    content = json.loads((folder / "tokenizer.json").read_text())
    content["normalizer"] |= {"lowercase": False, "strip_accents": False}
    content["pre_tokenizer"] = {"type": "Whitespace"}
    content["post_processor"] = None
    content["model"]["max_input_chars_per_word"] = 3
    (folder / "tokenizer.json").write_text(json.dumps(content, indent=2))
    return compute(folder, "AutoModelForSequenceClassification")


def _write_fast(folder, change, extra=(), **options):
    """Writes a classifier whose PreTrainedTokenizerFast has a changed component."""
    from transformers import PreTrainedTokenizerFast

    vocabulary = make_vocabulary(extra)
    backend = make_tokenizer(vocabulary).backend_tokenizer
    change(backend)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )
    config = make_config(vocabulary, id2label=LABELS, **options)
    save(folder, make_model("BertForSequenceClassification", config), tokenizer)
    return compute(folder, "AutoModelForSequenceClassification")


@case
def fast_like_bert(folder):
    """A PreTrainedTokenizerFast with the components of BERT."""
    return _write_fast(folder, lambda backend: None)


@case
def fast_cased(folder):
    """A PreTrainedTokenizerFast whose normalizer keeps case: the file counts."""
    return _write_fast(folder, _keep_case)


def _keep_case(backend):
    """Makes a tokenizer keep case and accents."""
    from tokenizers import normalizers

    backend.normalizer = normalizers.BertNormalizer(lowercase=False)


@case
def fast_other_pre_tokenizer(folder):
    """Splits at whitespace and punctuation in another way."""
    from tokenizers import pre_tokenizers

    def change(backend):
        backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()

    return _write_fast(folder, change)


@case
def fast_without_special_tokens(folder):
    """No post-processor, so no [CLS] and [SEP]."""
    from tokenizers import processors

    def change(backend):
        backend.post_processor = processors.Sequence([])

    return _write_fast(folder, change)


@case
def file_without_class(folder):
    """config.json implies the class BertTokenizer, which lowercases, unlike tokenizer.json."""
    vocabulary = make_vocabulary()
    config = make_config(vocabulary, id2label=LABELS)
    save(folder, make_model("BertForSequenceClassification", config), make_tokenizer(vocabulary))
    content = json.loads((folder / "tokenizer.json").read_text())
    content["normalizer"] |= {"lowercase": False}
    content["model"]["max_input_chars_per_word"] = 3
    (folder / "tokenizer.json").write_text(json.dumps(content, indent=2))
    (folder / "tokenizer_config.json").unlink()
    return compute(folder, "AutoModelForSequenceClassification")


@case
def fast_in_config(folder):
    """config.json has the class PreTrainedTokenizerFast: tokenizer.json counts."""
    entry = _write_fast(folder, _keep_case)
    (folder / "tokenizer_config.json").unlink()
    edit(folder / "config.json", tokenizer_class="PreTrainedTokenizerFast")
    return entry | compute(folder, "AutoModelForSequenceClassification")


def _tokenize_long_words(folder):
    """Returns the tokens of texts with long words."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    texts = [f"good {'w' * number} film" for number in (99, 100, 101, 150, 200, 201)]
    return {"text_a": texts, "tokens": [" ".join(tokenizer.tokenize(text)) for text in texts]}


@case
def long_words(folder):
    """The class BertTokenizer has a limit of 100 characters, the original BERT one of 200."""
    vocabulary = make_vocabulary(["##w"])
    config = make_config(vocabulary, id2label=LABELS, max_position_embeddings=250)
    save(folder, make_model("BertForSequenceClassification", config), make_tokenizer(vocabulary))
    return _tokenize_long_words(folder)


@case
def fast_long_words(folder):
    """A PreTrainedTokenizerFast with the limit of the original BERT."""
    _write_fast(folder, _limit_words(200), ["##w"], max_position_embeddings=250)
    return _tokenize_long_words(folder)


@case
def fast_other_limit(folder):
    """A PreTrainedTokenizerFast with a limit that is neither BERT's nor that of transformers."""
    _write_fast(folder, _limit_words(150), ["##w"])
    return _tokenize_long_words(folder)


@case
def fast_short_words(folder):
    """Words of more than 3 characters are [UNK]."""
    return _write_fast(folder, _limit_words(3))


def _limit_words(characters):
    """Returns a change of a tokenizer's limit of words."""
    from tokenizers import models

    def change(backend):
        vocabulary = backend.get_vocab(with_added_tokens=False)
        backend.model = models.WordPiece(
            vocabulary, unk_token="[UNK]", max_input_chars_per_word=characters
        )

    return change


def _write_with_tensors(folder, change, **options):
    """Writes a classifier whose model.safetensors `change` changes."""
    from safetensors.torch import load_file, save_file

    vocabulary = make_vocabulary()
    config = make_config(vocabulary, id2label=LABELS)
    save(folder, make_model("BertForSequenceClassification", config), make_tokenizer(vocabulary))
    path = folder / "model.safetensors"
    save_file(change(load_file(path)), path, {"format": "pt"})
    edit(folder / "config.json", **options)
    return {}


@case
def prefix_module(folder):
    """Saved from torch.nn.DataParallel."""
    return _write_with_tensors(
        folder, lambda tensors: {f"module.{key}": value for key, value in tensors.items()}
    )


@case
def prefix_compiled(folder):
    """Saved from torch.compile."""
    return _write_with_tensors(
        folder, lambda tensors: {f"_orig_mod.{key}": value for key, value in tensors.items()}
    )


@case
def fewer_layers(folder):
    """The config has one layer, the file two."""
    return _write_with_tensors(folder, dict, num_hidden_layers=1)


@case
def relative_positions(folder):
    """A position embedding of transformers 4."""
    return _write_with_tensors(folder, dict, position_embedding_type="relative_key")


@case
def two_poolers(folder):
    """classifier.dense, as in ELECTRA's head, next to a pooler."""

    def change(tensors):
        return tensors | {"classifier.dense.weight": tensors["bert.pooler.dense.weight"] * 2}

    return _write_with_tensors(folder, change)


@case
def adapter_tensors(folder):
    """Bottleneck adapters (adapter-transformers) inside the weights."""
    import torch

    name = "bert.encoder.layer.0.output.adapter.down.weight"
    return _write_with_tensors(folder, lambda tensors: {**tensors, name: torch.ones(4, 16)})


@case
def lora_tensors(folder):
    """The state dict of a PEFT model, saved as one file."""
    from safetensors.torch import save_file

    _write_with_tensors(folder, dict)
    model = _make_peft("BertForSequenceClassification", {"r": 2}, folder)
    tensors = model.base_model.model.state_dict()
    save_file(
        {key: value.contiguous() for key, value in tensors.items()},
        folder / "model.safetensors",
        {"format": "pt"},
    )
    return {}


@case
def lora_beside_kernels(folder):
    """Kernels with their usual names, and adapters next to them."""
    import torch

    name = "bert.encoder.layer.0.attention.self.query.lora_A.default.weight"
    return _write_with_tensors(folder, lambda tensors: {**tensors, name: torch.ones(2, 16)})


def _make_peft(name, options, base=None, **config):
    """Creates a PeftModel on a new model, or that in `base`; adapters and heads are not 0."""
    import peft
    import torch
    import transformers

    if base is None:
        model = make_model(name, make_config(make_vocabulary(), **config))
    else:
        model = getattr(transformers, name).from_pretrained(base)
    torch.manual_seed(4)
    settings = {"task_type": "SEQ_CLS", "lora_alpha": 8, "target_modules": ["query", "value"]}
    model = peft.get_peft_model(model, peft.LoraConfig(**settings | options)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def _write_adapter(folder, options, architecture="BertForSequenceClassification"):
    """Writes base/ and, next to it, an adapter; returns what PEFT computes with both."""
    vocabulary = make_vocabulary()
    base = folder / "base"
    save(
        base,
        make_model(architecture, make_config(vocabulary, id2label=LABELS)),
        make_tokenizer(vocabulary),
    )
    model = _make_peft(architecture, options, base)
    model.save_pretrained(folder)
    make_tokenizer(vocabulary).save_pretrained(folder)
    edit(folder / "adapter_config.json", base_model_name_or_path="base")
    (folder / "README.md").unlink()
    return compute(folder, None, model=model.to("cpu"))


@case
def peft_plain(folder):
    """Query and value, and the head."""
    return _write_adapter(folder, {"r": 2})


@case
def peft_patterns(folder):
    """Ranks and alphas by pattern; all linear layers; rank-stabilized scales."""
    return _write_adapter(
        folder,
        {
            "r": 2,
            "target_modules": "all-linear",
            "rank_pattern": {"layer.0.attention.self.query": 3, "intermediate.dense": 4},
            "alpha_pattern": {"layer.1.output.dense": 3, "key": 5},
            "use_rslora": True,
        },
    )


@case
def peft_bias(folder):
    """Trained biases of the adapted layers, and a trained pooler and LayerNorm."""
    return _write_adapter(
        folder,
        {
            "r": 3,
            "bias": "lora_only",
            "layers_to_transform": [1],
            "modules_to_save": ["pooler", "embeddings.LayerNorm"],
        },
    )


@case
def peft_all_biases(folder):
    """Trained biases of the complete model; a regular expression of modules."""
    return _write_adapter(
        folder,
        {
            "r": 1,
            "bias": "all",
            "target_modules": r".*\.(key|dense)",
            "exclude_modules": r".*pooler.*",
        },
    )


@case
def peft_dora(folder):
    """Weight-decomposed adapters, which are rejected."""
    return _write_adapter(folder, {"r": 2, "use_dora": True})


@case
def peft_on_base(folder):
    """A base model with an adapter in its directory."""
    import transformers

    vocabulary = make_vocabulary()
    save(
        folder,
        make_model("BertForSequenceClassification", make_config(vocabulary, id2label=LABELS)),
        make_tokenizer(vocabulary),
    )
    _make_peft("BertForSequenceClassification", {"r": 2}, folder).save_pretrained(folder)
    edit(folder / "adapter_config.json", base_model_name_or_path="base")
    (folder / "README.md").unlink()
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    return compute(folder, None, model=model)


@case
def peft_without_base(folder):
    """An adapter whose base is a name on the hub."""
    _write_adapter(folder, {"r": 2})
    shutil.rmtree(folder / "base")
    edit(folder / "adapter_config.json", base_model_name_or_path="google-bert/bert-base-uncased")
    return {}


def _write_sentence_transformer(folder, *, normalize=False, pooling="mean", **options):
    """Writes a SentenceTransformer; returns the embeddings of the reopened directory."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import (
        Normalize,
        Pooling,
        Transformer,
    )

    vocabulary = make_vocabulary(cased=True)
    encoder = folder.parent / f"{folder.name}_encoder"
    case_options = options.pop("tokenizer", {})
    save(
        encoder,
        make_model("BertModel", make_config(vocabulary)),
        make_tokenizer(vocabulary, **case_options),
    )
    transformer = Transformer(str(encoder), **options.pop("transformer", {}))
    modules = [transformer, Pooling(16, pooling, **options.pop("pooling_options", {}))]
    if normalize:
        modules.append(Normalize())
    SentenceTransformer(modules=modules, **options).save(str(folder), create_model_card=False)
    shutil.rmtree(encoder)
    return _embed(folder)


def _embed(folder):
    """Computes embeddings with a directory of sentence-transformers."""
    from sentence_transformers import SentenceTransformer

    texts = [*TEXTS, " ".join(TEXTS[1:2] * 8)]
    model = SentenceTransformer(str(folder), device="cpu")
    return {
        "text_a": texts,
        "embeddings": to_list(model.encode(texts, batch_size=1)),
        "ids": [model.tokenizer(text)["input_ids"] for text in TEXTS],
    }


@case
def st_normalized(folder):
    """Mean, divided by the norm."""
    return _write_sentence_transformer(folder, normalize=True)


@case
def st_max_seq_length(folder):
    """Cut to 8 tokens: model_max_length of the tokenizer."""
    return _write_sentence_transformer(folder, transformer={"max_seq_length": 8})


@case
def st_old_max_seq_length(folder):
    """The same in sentence_bert_config.json, with the names of version 2."""
    _write_sentence_transformer(folder, pooling="cls")
    (folder / "sentence_bert_config.json").write_text(
        json.dumps({"max_seq_length": 9, "do_lower_case": False})
    )
    (folder / "1_Pooling" / "config.json").write_text(
        json.dumps(
            {
                "word_embedding_dimension": 16,
                "pooling_mode_cls_token": True,
                "pooling_mode_mean_tokens": False,
                "pooling_mode_max_tokens": False,
                "pooling_mode_mean_sqrt_len_tokens": False,
            }
        )
    )
    return _embed(folder)


@case
def st_more_than_positions(folder):
    """max_seq_length is greater than the number of positions."""
    _write_sentence_transformer(folder, pooling="max")
    edit(folder / "tokenizer_config.json", model_max_length=512)
    return _embed(folder)


@case
def st_truncate_dim(folder):
    """Embeddings are cut after they were normalized."""
    return _write_sentence_transformer(folder, normalize=True, truncate_dim=6)


@case
def st_default_prompt(folder):
    """A prompt before each text."""
    prompts = {"query": "Das film : ", "document": ""}
    return _write_sentence_transformer(folder, prompts=prompts, default_prompt_name="query")


@case
def st_prompt_not_pooled(folder):
    """A prompt before each text, whose tokens do not count in the mean."""
    return _write_sentence_transformer(
        folder,
        prompts={"query": "the very long "},
        default_prompt_name="query",
        pooling_options={"include_prompt": False},
    )


@case
def st_lower_case(folder):
    """do_lower_case of version 5 lowercases texts before a cased tokenizer."""
    _write_sentence_transformer(folder, tokenizer={"do_lower_case": False})
    edit(folder / "sentence_bert_config.json", do_lower_case=True)
    return _embed(folder)


def _write_cross_encoder(folder, activation, num_labels=1):
    """Writes a CrossEncoder; returns the scores of the reopened directory."""
    from sentence_transformers import CrossEncoder

    vocabulary = make_vocabulary()
    encoder = folder.parent / f"{folder.name}_encoder"
    config = make_config(vocabulary, num_labels=num_labels)
    save(encoder, make_model("BertForSequenceClassification", config), make_tokenizer(vocabulary))
    model = CrossEncoder(str(encoder), activation_fn=activation, device="cpu")
    model.save_pretrained(str(folder), create_model_card=False)
    shutil.rmtree(encoder)
    text_a, text_b = map(list, zip(*PAIRS, strict=True))
    scores = CrossEncoder(str(folder), device="cpu").predict(PAIRS, batch_size=1)
    return compute(folder, "AutoModelForSequenceClassification", text_a, text_b) | {
        "scores": to_list(scores)
    }


@case
def cross_encoder_sigmoid(folder):
    """A number from 0 to 1 for each pair."""
    import torch

    return _write_cross_encoder(folder, torch.nn.Sigmoid())


@case
def cross_encoder_identity(folder):
    """Any number for each pair."""
    import torch

    return _write_cross_encoder(folder, torch.nn.Identity())


@case
def cross_encoder_tanh(folder):
    """Another activation, which is rejected."""
    import torch

    return _write_cross_encoder(folder, torch.nn.Tanh())


@case
def cross_encoder_labels(folder):
    """Logits of three labels: Identity is the default."""
    return _write_cross_encoder(folder, None, num_labels=3)


def _make_keras_hub_backbone():
    """Creates a backbone of KerasHub with random weights."""
    import keras
    import keras_hub

    keras.utils.set_random_seed(3)
    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=len(make_vocabulary()),
        num_layers=2,
        num_heads=2,
        hidden_dim=16,
        intermediate_dim=24,
        max_sequence_length=48,
    )
    _add_noise(backbone)
    return backbone


def _add_noise(model):
    """Adds random numbers to all weights, so that none is 0."""
    import numpy as np

    for variable in model.weights:
        generator = np.random.default_rng(len(variable.shape))
        variable.assign(variable.numpy() + generator.normal(0, 0.3, variable.shape))


def _make_keras_hub_tokenizer():
    import keras_hub

    return keras_hub.tokenizers.BertTokenizer(list(make_vocabulary()), lowercase=True)


@keras_hub_case
def keras_hub(folder):
    """A backbone and a tokenizer."""
    import keras_hub
    import numpy as np

    backbone = _make_keras_hub_backbone()
    tokenizer = _make_keras_hub_tokenizer()
    backbone.save_to_preset(str(folder))
    tokenizer.save_to_preset(str(folder))
    preprocessor = keras_hub.models.BertTextClassifierPreprocessor(tokenizer, sequence_length=16)
    entry = {"text_a": TEXTS, "ids": [], "last_hidden_state": [], "pooled_output": []}
    for text in TEXTS:
        features = preprocessor([text])
        count = int(np.asarray(features["padding_mask"]).sum())
        outputs = backbone(features)
        entry["ids"].append(np.asarray(features["token_ids"])[0, :count].tolist())
        entry["last_hidden_state"].append(
            to_list(np.asarray(outputs["sequence_output"])[0, :count])
        )
        entry["pooled_output"].append(to_list(np.asarray(outputs["pooled_output"])[0]))
    return entry


@keras_hub_case
def keras_hub_classifier(folder):
    """A classifier, which truncates texts to 10 tokens."""
    import keras_hub
    import numpy as np

    preprocessor = keras_hub.models.BertTextClassifierPreprocessor(
        _make_keras_hub_tokenizer(), sequence_length=10
    )
    model = keras_hub.models.BertTextClassifier(
        _make_keras_hub_backbone(), num_classes=3, preprocessor=preprocessor
    )
    _add_noise(model)
    model.save_to_preset(str(folder))
    return {"text_a": TEXTS, "logits": to_list(np.asarray(model.predict(TEXTS)))}


@keras_hub_case
def keras_hub_masked_lm(folder):
    """A masked LM, which is rejected."""
    import keras_hub

    preprocessor = keras_hub.models.BertMaskedLMPreprocessor(
        _make_keras_hub_tokenizer(), sequence_length=16, mask_selection_length=4
    )
    model = keras_hub.models.BertMaskedLM(_make_keras_hub_backbone(), preprocessor=preprocessor)
    model.save_to_preset(str(folder))
    return {}


def main():
    names = sys.argv[1:] or list(CASES)
    if names == ["keras_hub"]:
        names = list(KERAS_HUB_CASES)
    path = HERE / "expected.json"
    expected = json.loads(path.read_text()) if path.exists() else {}
    for name in names:
        folder = MODELS / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        expected[name] = (CASES | KERAS_HUB_CASES)[name](folder)
        print(name)
    path.write_text(json.dumps(expected, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
