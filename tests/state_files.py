"""Contents of the files that store the settings of a run."""

import json

CHANGEABLE = {"learning_rate": 5e-5, "mixed_precision": "float32"}


def assert_holds(path, values):
    """Asserts that a file in the format of the project contains these values, those of dicts among others."""
    text = path.read_text(encoding="utf-8")
    found = json.loads(text)
    assert text == json.dumps(found, indent=2) + "\n"
    for name, value in json.loads(json.dumps(values)).items():
        if name == "changeable":
            assert found[name].items() >= value.items()
        else:
            assert found[name] == value, name
