import numpy as np

from run.evaluation import plots


def test_confusion_matrix_is_a_picture(tmp_path):
    path = str(tmp_path / "confusion.png")
    plots.confusion_matrix(path, np.array([0, 1, 2, 2]), np.array([0, 2, 2, 2]), ("a", "b", "c", "never seen"))
    with open(path, "rb") as file:
        assert file.read(4) == b"\x89PNG"
    assert [each.name for each in tmp_path.iterdir()] == ["confusion.png"]
