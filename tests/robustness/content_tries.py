"""Files that are damaged, of another kind or of another model, and odd ones that are valid."""

import json
import pickle
import struct

from tests.robustness.commands import attempt

DEEP = "[" * 100_000
CONFIG = {"vocab_size": 150, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
          "intermediate_size": 12, "max_position_embeddings": 32, "type_vocab_size": 2}
CONFIGS = (  # what bert_config.json holds, and what of it must be named
    (b"", "is not JSON"), (b"{", "is not JSON"), (b"[]", "expected a JSON object"), (b"3", "expected a JSON object"),
    (b"\xff\xfe", "is not"), (DEEP, "is nested too deeply"),
    ('{"vocab_size": 9, "vocab_size": 8}', "'vocab_size' twice"),
    *((json.dumps({**CONFIG, name: value}), name) for name, value in (
        ("vocab_size", 10**12), ("vocab_size", "many"), ("vocab_size", -1), ("vocab_size", 3.5), ("vocab_size", None),
        ("vocab_size", True), ("hidden_size", 9), ("hidden_size", 2**31), ("num_hidden_layers", 10**9),
        ("num_attention_heads", 0), ("hidden_act", "swish"), ("hidden_dropout_prob", 1.5),
        ("hidden_dropout_prob", float("nan")), ("initializer_range", float("inf")), ("intermediate_size", [1]),
        ("max_position_embeddings", 0), ("type_vocab_size", 10**13))),
)
VOCABULARIES = (  # what vocab.txt holds, and what must be said
    ("", "is empty"), ("[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "[MASK]"), ("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\na\n", "'a'"),
    ("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n\nb\n", "line 6: is blank"), (b"[PAD]\n\xe9\n", "is not UTF-8"),
    ("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n" + "x" * 300, "line 6: a piece of 300 bytes"),
    ("\ufeff[PAD]\n", "byte-order mark"), (bytes(100), "vocab.txt"))
TASK_FILES = (
    "{", "[]", "3", '{"kind": "x"}', DEEP, '{"kind": "classifier", "kind": "classifier"}',
    *(json.dumps({"kind": "classifier", "max_seq_length": 16, "do_lower_case": True, "labels": ["0", "1"], **change})
      for change in ({"kind": 3}, {"max_seq_length": "7"}, {"labels": "ab"}, {"pairs": 1}, {"multi_label": "no"},
                     {"doc_stride": "a"}, {"max_query_length": 1.5}, {"strip_accents": 3}, {"more": 1})))
TRAINING_TABLES = (  # own/train.tsv, and what must be said
    (b"text\tlabel\n", "own/train.tsv"),
    (b"text\tlabel\na\t\nb\t1\n", "own/train.tsv:2: the label"),
    (b"text\tlabel\na\n", "own/train.tsv:2: 2 columns"), (b"a\tb\nc\td\n", "own/train.tsv:1: there is no column"),
    (b"text\tlabel\na\t1\nb\t1\n", "all rows have the label '1'"),
    (bytes(64), "own/train.tsv"))
SQUADS = (
    ("", "squad.json: is not JSON"), (DEEP, "squad.json: its JSON is nested"),
    ("{}", "squad.json: a list named 'data'"),
    ('{"data": []}', "squad.json: has no questions"), (b'{"data": "\xe9"}', "squad.json: byte"),
    ('{"data": [{"paragraphs": [{"context": "a", "qas": [3]}]}]}', "squad.json: data[0].paragraphs[0].qas[0]"),
    ('{"data": [{"paragraphs": [{"context": 3, "qas": []}]}]}', "squad.json: data[0].paragraphs[0]"),
    ('{"data": [{"paragraphs": [{"context": "a b", "qas": [{"id": "1", "question": "q", "answers": []}]}]}]}',
     "squad.json"))
RACES = ((DEEP, "race/1.json"), ('{"article": "a"}', "race/1.json"),
         ('{"article": "a", "questions": ["q"], "options": [["a", "b"]], "answers": ["Z"]}', "race/1.json"),
         )
SWAGS = (
    ("sent1,sent2,ending0,ending2,label\na,b,c,d,0\n", "swag.csv:1: the column ending1"),
    ("sent1,sent2,ending0,ending1,label\na,b,c,d,7\n", "swag.csv:2: label '7'"),
    ("sent1,sent2,ending0,ending1,label\na,b,c\n", "swag.csv:2: 5 columns"),
    ("sent1,sent2,ending0,ending1\na,b,c,d\n", "--train_file=swag.csv: has no answers"))
WORDS = (("", "words.txt: has no words"), ("a O\nb\n", "words.txt:2: 2 columns"),
         ("a O\nb O\n", "all words have the label"),
         ("a B-PER\nb VERB\n", "words.txt:2: label 'VERB'"), (bytes(40), "words.txt"))
TREEBANKS = (("", "a.conllu"), ("1\ta\n", "a.conllu:1"), (bytes(40), "a.conllu"),
             ("1\ta\t_\tX\t_\t_\t7\tdet\t_\t_\n\n", "a.conllu"))
VECTORS = (b"", b"x" * 99, b"PK\x05\x06" + bytes(18), pickle.dumps([1]))  # of `nearest`, what they are not
CHECKPOINTS = (  # what model/bert_model.ckpt.data-... or .index holds
    ("bert_model.ckpt.data-00000-of-00001", b""), ("bert_model.ckpt.data-00000-of-00001", b"x" * 500),
    ("bert_model.ckpt.index", b""), ("bert_model.ckpt.index", b"x" * 500))
SAFETENSORS = (b"", b"\x00" * 8, struct.pack("<Q", 2**62) + b"{}", struct.pack("<Q", 8) + b"{" * 8,
               struct.pack("<Q", 100_000) + DEEP.encode(), struct.pack("<Q", 2) + b"{}" + b"x" * 99,
               struct.pack("<Q", 71) + b'{"a":{"dtype":"F32","shape":[9999999,9999999],"data_offsets":[0,64]}}  '
               + b"x" * 64)
TF_CONFIGS = ("{", "[]", "3", DEEP, '{"cluster": 3}', '{"task": []}', '{"cluster": {"worker": 3}}',
              '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": "x"}}',
              '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 5}}')
REQUESTS = (  # of predict: name, content, what must be said
    ("a.jsonl", DEEP, "a.jsonl:1: is not JSON"), ("a.tsv", "x\ttext\na\n", "a.tsv:2: has 1 columns"),
    ("a.txt", "", "--input_file=a.txt: holds no row"))


def tries():
    """Yields the tries."""
    yield from _refused()
    yield from _models()
    yield from _valid()


def _refused():
    for content, says in CONFIGS:
        yield attempt("run_pretraining", {}, says, files={"bert_config.json": content})
    for content, says in VOCABULARIES:
        yield attempt("create_pretraining_data", {}, says, files={"vocab.txt": content})
    for content in TASK_FILES:
        yield attempt("export_saved_model", {}, "tuned/task.json", files={"tuned/task.json": content})
    for content, says in TRAINING_TABLES:
        yield attempt("run_classifier", {}, says, files={"own/train.tsv": content}, after_work=True)
    for content, says in SQUADS:
        yield attempt("run_squad", {}, says, files={"squad.json": content}, after_work=True)
    for content, says in RACES:
        yield attempt("run_multiple_choice", {"data_format": "race", "train_file": "race"}, says,
                      files={"race/1.json": content}, after_work=True)
    for content, says in SWAGS:
        yield attempt("run_multiple_choice", {}, says, files={"swag.csv": content}, after_work=True)
    for content, says in WORDS:
        yield attempt("run_tagger", {}, says, files={"words.txt": content}, after_work=True)
    for content, says in TREEBANKS:
        for command, flag in (("analyze_attention", "treebank"), ("probe_layers", "train_file")):
            yield attempt(command, {"dev_file": "a.conllu", flag: "a.conllu"} if flag == "train_file" else {
                flag: "a.conllu"}, says, files={"a.conllu": content}, after_work=True)
    for content in VECTORS:
        yield attempt("nearest", {"vectors": "a.npz"}, "--vectors=a.npz: is no .npz of extract_features",
                      files={"a.npz": content}, after_work=True)
    for command in ("analyze_attention", "nearest"):
        yield attempt(command, {}, "--input_file=text.txt: holds no", files={"text.txt": ""}, after_work=True)
    for content in TF_CONFIGS:
        yield attempt("run_classifier", {"distribution_strategy": "multi_worker_mirrored"}, "TF_CONFIG",
                      environment={"TF_CONFIG": content})
    for name, content, says in REQUESTS:
        yield attempt("predict", {"model": "served", "input_file": name}, says, files={name: content}, after_work=True)
    for content in (b"", b"x" * 100, bytes(1000)):
        yield attempt("run_pretraining", {}, "records.tfrecord", files={"records.tfrecord": content})
        yield attempt("inspect_records", {}, "records.tfrecord", files={"records.tfrecord": content}, after_work=True)
    for content in (b"", b"x" * 100, b"\x1f\x8b" + bytes(50)):
        yield attempt("create_pretraining_data", {"input_file": "text.txt.gz"}, "text.txt.gz",
                      files={"text.txt.gz": content}, after_work=True)
    for text in ("one document\n", "\n \n", ""):
        yield attempt("create_pretraining_data", {}, "text.txt", files={"text.txt": text}, after_work=True)
    yield attempt("create_pretraining_data", {"num_output_shards": 50}, "--num_output_shards", after_work=True)
    yield attempt("learn_vocab", {}, "--input_file=text.txt: there are no words", files={"text.txt": "\n"},
                  after_work=True)
    yield attempt("export_saved_model", {"labels_file": "labels.txt"}, "labels.txt", files={"labels.txt": b"\xff\n"})
    yield attempt("export_saved_model", {"labels_file": "labels.txt"}, "--labels_file=labels.txt: is empty",
                  files={"labels.txt": ""})
    for content in ("[" * 100_000, "a: [", "x: 2001-99-99", "3"):
        yield attempt("run_pretraining", {"bert_config_file": "params.yaml"}, "params.yaml",
                      files={"params.yaml": content})


def _models():
    for name, content in CHECKPOINTS:
        yield attempt("convert_checkpoint", {}, "model/bert_model.ckpt", files={f"model/{name}": content},
                      after_work=True)
    for name in dict(CHECKPOINTS):
        yield attempt("run_classifier", {}, "model/bert_model.ckpt", files={f"model/{name}": b"x" * 500},
                      after_work=True)
    for content in SAFETENSORS:
        yield attempt("convert_checkpoint", {"input": "hf", "format": "tf1"}, "hf/model.safetensors",
                      files={"hf/model.safetensors": content}, after_work=True)
    yield attempt("run_classifier", {"bert_config_file": "bert_config.json", "init_checkpoint": "wide"},
                  "wide/bert_model.ckpt", after_work=True)
    yield attempt("run_pretraining", {"init_checkpoint": "wide"}, "wide/bert_model.ckpt", after_work=True)
    yield attempt("run_squad", {"bert_config_file": "bert_config.json", "init_checkpoint": "wide"},
                  "wide/bert_model.ckpt", after_work=True)
    yield attempt("run_classifier", {"init_checkpoint": "pickled"}, "pickled", files={
        "pickled/pytorch_model.bin": b"\x80\x02}q\x00.", "pickled/config.json": "{}"})
    yield attempt("answer", {"init_checkpoint": "tuned"}, "tuned")
    yield attempt("fill_mask", {"init_checkpoint": "tuned"}, "--init_checkpoint=tuned", after_work=True)
    yield attempt("answer", {"init_checkpoint": None, "saved_model": "served"}, "--saved_model=served: is not of a",
                  after_work=True)
    yield attempt("evaluate_export", {"init_checkpoint": "span", "predict_file": "squad.json", "data_dir": None},
                  "--model=served: is of a classifier", after_work=True)
    yield attempt("evaluate_export", {"predict_file": "squad.json"}, "--predict_file=squad.json", after_work=True)
    for name, content in (("saved_model.pb", b""), ("saved_model.pb", b"x" * 99), ("variables/variables.index", b""),
                          ("variables/variables.data-00000-of-00001", b"x")):
        yield attempt("predict", {"model": "served"}, "served/1", files={f"served/1/{name}": content}, after_work=True)
    for content in (b"", b"x" * 99, b"PK\x05\x06" + bytes(18)):
        yield attempt("fill_mask", {"init_checkpoint": None, "model": "m.tflite", "max_seq_length": None}, "m.tflite",
                      files={"m.tflite": content})
    yield attempt("export_saved_model", {"vocab_file": "other_vocab.txt"},
                  "--vocab_file=other_vocab.txt: is not the vocabulary")
    yield attempt("export_saved_model", {"do_lower_case": False}, "--do_lower_case says False")
    yield attempt("export_saved_model", {"task": "span_labeler"}, "--task=span_labeler: contradicts task.json")
    yield attempt("export_saved_model", {"export_dir": "served", "version": 1}, "served/1: exists", after_work=True)
    yield attempt("run_distillation", {"teacher": "pretrained"}, "--teacher=pretrained: is no fine-tuned model")


def _valid():
    """What is odd and right."""
    made = r"new\.tfrecord(\.manifest\.json)?"
    for text in (b"One line.\r\n\r\nTwo.\r\n", b"\xef\xbb\xbfOne.\n\nTwo.\n", b"One.\n\n" + b"x" * 5000 + b"\n",
                 b"One.\n\n\x00\x01two\n", "Ḧé.\n\nß ſ ŉ\n".encode()):
        yield attempt("create_pretraining_data", {}, "wrote", files={"text.txt": text}, status=0, writes=made)
    yield attempt("create_pretraining_data", {}, "note: 2 lines have bytes that are not UTF-8, which are left out",
                  files={"text.txt": b"caf\xe9 one\n\ntwo \xff\n"}, status=0, writes=made)
    yield attempt("create_pretraining_data", {"random_seed": -2**63}, "wrote", status=0, writes=made)
    yield attempt("create_pretraining_data", {"verify": True}, "wrote", status=0, writes=made)
    yield attempt("learn_vocab", {"vocab_size": 112, "min_count": 1}, "entries", status=0, writes=r"new\.txt",
                  files={"text.txt": b"caf\xe9 caf caf\n"})
    yield attempt("inspect_records", {}, "[CLS]", status=0)
    yield attempt("convert_checkpoint", {}, "", status=0, writes=r"new/.*")
    yield attempt("convert_checkpoint", {"input": "hf", "format": "tf1"}, "", status=0, writes=r"new/.*")
    yield attempt("predict", {"model": "served"}, "new.jsonl: answers of a classifier to 3 rows", status=0,
                  writes=r"new\.jsonl", files={"text.txt": "a\r\n\r\n" + "word " * 3000})
    yield attempt("predict", {"model": "served", "input_file": "a.csv"}, "1 line has bytes that are", status=0,
                  writes=r"new\.jsonl", files={"a.csv": b'text\n"caf\xe9, ' + b"x" * 140_000 + b'"\n'})
    yield attempt("predict", {"model": "served", "input_file": "-", "output_file": "-"}, '"label"', status=0,
                  text="a\n")
