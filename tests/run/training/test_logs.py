"""CSV files of metrics by step."""

import pytest

from run.training import logs
from tests.errors import Message, raises_message, rejects


def test_a_log_drops_what_came_after_the_step_it_goes_on_from(tmp_path):
    log = logs.Log(str(tmp_path), "log.csv", 0)
    assert not (tmp_path / "log.csv").exists()
    for step in (2, 4, 6):
        log.add(step, {"loss": step / 8})
    with open(tmp_path / "log.csv", "a", encoding="utf-8") as file:
        file.write("8")  # a killed run's last line
    resumed = logs.Log(str(tmp_path), "log.csv", 4)
    assert resumed.rows == [{"step": 2, "loss": 0.25}, {"step": 4, "loss": 0.5}]
    resumed.add(5, {"loss": 0.125})
    assert (tmp_path / "log.csv").read_text() == "step,loss\n2,0.25\n4,0.5\n5,0.125\n"


def test_a_log_takes_up_new_names(tmp_path):
    logs.Log(str(tmp_path), "log.csv", 0).add(1, {"loss": 0.5})
    log = logs.Log(str(tmp_path), "log.csv", 1)
    log.add(3, {"loss": 0.25, "accuracy": 0.75})
    assert (tmp_path / "log.csv").read_text() == "step,loss,accuracy\n1,0.5,\n3,0.25,0.75\n"
    again = logs.Log(str(tmp_path), "log.csv", 3)
    assert again.curves() == {"loss": ((1, 3), (0.5, 0.25)), "accuracy": ((3,), (0.75,))}


def test_of_several_workers_one_writes(tmp_path):
    log = logs.Log(str(tmp_path), "log.csv", 0, writes=False)
    log.add(1, {"loss": 0.5})
    log.add(2, {"loss": 0.25})
    assert log.rows[-1] == {"step": 2, "loss": 0.25}
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"step,loss\n1,many\n",
            Message(
                None, "is not a log", "could not convert string to float", "'many'", "move the file"
            ),
        ),
        (b"loss\n0.5\n", Message(None, "is not a log", "'step'")),
        (b"step,loss\n1,\xff\n", Message(None, "which is not UTF-8")),
        (b"step,loss\n1,2,3\n", Message(None, "is not a log")),
    ],
)
def test_a_log_that_is_damaged(tmp_path, content, message):
    (tmp_path / "log.csv").write_bytes(content)
    with raises_message(message, file=tmp_path / "log.csv"):
        logs.Log(str(tmp_path), "log.csv", 5)
    assert (tmp_path / "log.csv").read_bytes() == content


def test_a_full_disk_is_named(tmp_path):
    log = logs.Log(str(tmp_path), "log.csv", 0)
    log.add(1, {"loss": 0.5})
    (tmp_path / "log.csv").unlink()
    (tmp_path / "log.csv").symlink_to("/dev/full")
    with rejects("log.csv", "cannot be written", "No space left on device", error=OSError):
        log.add(2, {"loss": 0.25})
