from run.training import loop_length


def test_loops_last_about_a_second_and_end_at_checkpoints(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(loop_length.time, "monotonic", lambda: clock[0])
    length = loop_length.LoopLength(save_checkpoints_steps=50, iterations_per_loop=30)
    step, loops = 0, []
    for seconds_per_step in (9, *(0.04 for _ in range(7))):  # the first loop compiles
        loops.append(length(step))
        step += loops[-1]
        clock[0] += loops[-1] * seconds_per_step
        assert length.end(step)[0] == loops[-1]
        clock[0] += 100  # an evaluation in between
    assert loops == [1, 2, 4, 8, 16, 19, 25, 25]


def test_several_workers_run_the_same_numbers_of_steps():
    length = loop_length.LoopLength(save_checkpoints_steps=50, iterations_per_loop=30, follows_clock=False)
    assert [length(step) for step in (0, 30, 50)] == [30, 20, 30]
