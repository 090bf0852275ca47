"""A server of Cloud Storage for tests: TensorFlow's gs:// client talks to it as to Google's, without a network.

`python -m tests.cloud_storage FOLDER COMMAND...` runs a command for which gs://BUCKET/... is a directory in FOLDER.
"""

from tests.cloud_storage.cloud import CloudStorage
from tests.cloud_storage.namespace import reason_to_skip

__all__ = ["CloudStorage", "reason_to_skip"]
