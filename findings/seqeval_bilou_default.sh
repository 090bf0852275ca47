#!/bin/sh
# Versions: seqeval 1.2.2, NumPy 2.3.5, CPython 3.11 to 3.13
#
# Behavior:
# In its default mode, seqeval loses an entity of BILOU if another one of the same type follows it, and joins adjacent
# U- tags. A prediction that misses half of the entities has F1 1.0. It only warns that "L-PER seems not to be NE tag".
#
# Output:
#     gold:       2 entities, read by default: [('PER', 2, 3)]
#     prediction: 1 entity,   read by default: [('PER', 2, 3)]
#     F1 by default 1.00, strict 0.67
#     U-PER U-PER, read by default: [('PER', 0, 1)]
#
# Why a good guess is wrong:
# A good guess is that an unknown prefix is an error, or that the default mode reads all schemes like conlleval, with which
# its documentation compares it. The documentation lists BILOU and IOBES, both "only in strict mode", but the default mode
# reads IOBES correctly: it has rules for S- and E-, but none for U- and L-. So B- of the second entity begins a new one
# before the first one has ended, and the first one is dropped. The same happens to the gold tags, so the scores stay
# high, and a dev set with few adjacent entities hides it.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"${PYTHON:-python3}" -m venv "$directory/venv"
"$directory/venv/bin/pip" install -q --disable-pip-version-check seqeval==1.2.2 numpy==2.3.5
cat > "$directory/entities.py" <<'PYTHON_END'
from seqeval.metrics import f1_score
from seqeval.metrics.sequence_labeling import get_entities
from seqeval.scheme import BILOU

gold = ["B-PER", "L-PER", "B-PER", "L-PER"]
predicted = ["O", "O", "B-PER", "L-PER"]
print("gold:       2 entities, read by default:", get_entities(gold))
print("prediction: 1 entity,   read by default:", get_entities(predicted))
default = f1_score([gold], [predicted])
strict = f1_score([gold], [predicted], mode="strict", scheme=BILOU)
print(f"F1 by default {default:.2f}, strict {strict:.2f}")
print("U-PER U-PER, read by default:", get_entities(["U-PER", "U-PER"]))
assert get_entities(gold) == get_entities(predicted) == [("PER", 2, 3)]
assert default == 1.0 and round(strict, 2) == 0.67
assert get_entities(["U-PER", "U-PER"]) == [("PER", 0, 1)]
PYTHON_END
"$directory/venv/bin/python" -W ignore "$directory/entities.py"
