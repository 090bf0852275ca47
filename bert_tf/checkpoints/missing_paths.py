"""Remedies for the path of a model that does not exist."""

import difflib
import os
import re

EXAMPLE = "google-bert/bert-base-uncased"  # A model of Hugging Face's hub.
# Names on this hub; Google's models are also known without their owner.
HUB_NAME = re.compile(r"(?P<owner>\w[\w.-]*)/[\w.-]+|bert-[\w.-]+")


def describe_remedy(path, folder, name):
    """Returns a remedy for a path that does not exist: a similar name, or a download.

    Args:
      path: str.
      folder: Folder. The directory of the path.
      name: str. Name of the path in it.
    """
    hub_name = HUB_NAME.fullmatch(path)
    if hub_name and not os.path.exists(hub_name["owner"] or path):
        return describe_download(path)
    names = {each.removesuffix(".index") for each in folder.names}
    similar = difflib.get_close_matches(name, sorted(names), n=1)
    return f"did you mean {folder.join(similar[0])}?" if similar else "check the path"


def describe_download(name=EXAMPLE):
    """Returns how to download a model of Hugging Face's hub, for messages."""
    name = name if "/" in name else f"google-bert/{name}"
    return f"to download a model: hf download {name} --local-dir {name.partition('/')[2]}"
