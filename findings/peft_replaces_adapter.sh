#!/bin/sh
# Versions: peft 0.21.2 with transformers 5.24.0 and torch 2.13.0, CPython 3.11
#
# Behavior:
# The directory of a base model also has a trained adapter. transformers opens both, so the logits include the adapter.
# get_peft_model on this model, with a new LoRA whose B is 0, changes the logits before any training: the new adapter has
# the same name ("default"), and replaces the trained one. The trained classifier stays, which belongs to no adapter then.
#
# Output:
#     base:                            -0.46  0.46
#     the adapter on its base:          1.58 -4.85
#     the directory with both:          1.58 -4.85
#     with a new adapter, untrained:   -1.19  5.65
#     the base with that classifier:   -1.19  5.65
#
# Why a good guess is wrong:
# A good guess is that the opened model is the starting point: LoRA starts from B = 0 in order not to change it, and the
# warning of PEFT says that there will be "multiple adapters in the model". There is only one. Training then does not
# continue from the adapter, but from the base with a classifier that was trained for something else.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"${PYTHON:-python3}" -m venv "$directory/venv"
"$directory/venv/bin/pip" install -q --disable-pip-version-check peft==0.21.2 transformers==5.24.0 torch==2.13.0
cat > "$directory/adapters.py" <<'PYTHON_END'
import os
import shutil
import sys

import peft
import torch
import transformers

os.chdir(sys.argv[1])
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
IDS = torch.tensor([[1, 2, 3]])
LORA = peft.LoraConfig(task_type="SEQ_CLS", r=2, target_modules=["query", "value"])
torch.manual_seed(0)
config = transformers.BertConfig(
    vocab_size=20,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=24,
    initializer_range=0.5,
)
transformers.BertForSequenceClassification(config).save_pretrained("base")


def open_model(folder):
    return transformers.AutoModelForSequenceClassification.from_pretrained(folder)


def show(title, model):
    with torch.no_grad():
        logits = model.eval()(IDS).logits[0]
    print(f"{title + ':':32}" + " ".join(f"{value:5.2f}" for value in logits.tolist()))
    return logits


base = show("base", open_model("base"))
trained = peft.get_peft_model(open_model("base"), LORA)
torch.manual_seed(1)
with torch.no_grad():
    for parameter in trained.parameters():
        if parameter.requires_grad:
            parameter.add_(torch.randn_like(parameter))
trained.save_pretrained("adapter")
with_adapter = show("the adapter on its base", trained)
shutil.copytree("base", "both")
shutil.copytree("adapter", "both", dirs_exist_ok=True)
both = show("the directory with both", open_model("both"))
renewed = show("with a new adapter, untrained", peft.get_peft_model(open_model("both"), LORA))
mixed = open_model("base")
classifier = trained.base_model.model.classifier.modules_to_save["default"]
mixed.classifier.load_state_dict(classifier.state_dict())
expected = show("the base with that classifier", mixed)
assert torch.allclose(both, with_adapter, atol=1e-5) and not torch.allclose(base, both, atol=0.1)
assert not torch.allclose(renewed, both, atol=0.1)
assert torch.allclose(renewed, expected, atol=1e-5)
PYTHON_END
"$directory/venv/bin/python" -W ignore "$directory/adapters.py" "$directory"
