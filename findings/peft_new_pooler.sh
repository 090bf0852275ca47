#!/bin/sh
# Versions: peft 0.21.2 with transformers 5.24.0 and torch 2.13.0, CPython 3.11
#
# Behavior:
# A checkpoint of BertForMaskedLM has no pooler. AutoModelForSequenceClassification creates a pooler and a classifier, and
# PEFT adds LoRA. save_pretrained of the PeftModel writes the adapters and the classifier, but not the pooler. The
# reopened adapter has another pooler each time, so its logits differ from those that were trained. With
# modules_to_save=["pooler"], they are equal.
#
# Output:
#     saved besides the adapters: ['classifier']
#     largest difference of the logits: 1.89
#     saved with modules_to_save:  ['classifier', 'pooler']
#     largest difference of the logits: 0.00
#
# Why a good guess is wrong:
# A good guess is that all that transformers initialized for the task is saved: with task_type="SEQ_CLS", PEFT adds the
# classifier to modules_to_save by itself, so a LoRA run on a checkpoint with a pooler can be reopened. The pooler is not
# among the names that PEFT looks for ("classifier" and "score"), although the classifier reads only its output.
# The line of transformers that the pooler was newly initialized is the same in the run and when the adapter is reopened.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"${PYTHON:-python3}" -m venv "$directory/venv"
"$directory/venv/bin/pip" install -q --disable-pip-version-check peft==0.21.2 transformers==5.24.0 torch==2.13.0
cat > "$directory/pooler.py" <<'PYTHON_END'
import os
import sys

import peft
import torch
import transformers
from safetensors import safe_open

os.chdir(sys.argv[1])
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
IDS = torch.tensor([[1, 2, 3]])
torch.manual_seed(0)
config = transformers.BertConfig(
    vocab_size=20,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=24,
    initializer_range=0.5,
)
transformers.BertForMaskedLM(config).save_pretrained("base")


def open_base():
    return transformers.AutoModelForSequenceClassification.from_pretrained("base")


def compare(folder, **options):
    """Returns the modules that are saved, and the difference of the reopened model."""
    settings = peft.LoraConfig(task_type="SEQ_CLS", target_modules=["query"], **options)
    model = peft.get_peft_model(open_base(), settings).eval()
    model.save_pretrained(folder)
    with safe_open(f"{folder}/adapter_model.safetensors", "pt") as file:
        names = [name for name in file.keys() if "lora" not in name]
    modules = {module for module in ("classifier", "pooler") if any(module in name for name in names)}
    reopened = peft.PeftModel.from_pretrained(open_base(), folder).eval()
    with torch.no_grad():
        difference = (model(IDS).logits - reopened(IDS).logits).abs().max().item()
    print(sorted(modules))
    print(f"largest difference of the logits: {difference:.2f}")
    return modules, difference


print("saved besides the adapters: ", end="")
modules, difference = compare("plain")
assert modules == {"classifier"} and difference > 0.01
print("saved with modules_to_save:  ", end="")
modules, difference = compare("complete", modules_to_save=["pooler"])
assert modules == {"classifier", "pooler"} and difference < 1e-6
PYTHON_END
"$directory/venv/bin/python" -W ignore "$directory/pooler.py" "$directory"
