from typing import Any

from watchdog.model import Reason
from watchdog.receivers import console_receiver


def test_an_incident_is_printed_in_full_once(bench: Any, make: Any) -> None:
    receiver = bench.build("console")
    assert receiver.deliver(make.delivery()) == {"told": "1"}
    [text] = bench.written
    assert text == (
        "[r] Warning: GPU 3 of train-7b has been idle for 20m\n"
        "    Job: train-7b · 8 × H100 · running https://provider.example/jobs/abc123\n"
        "    Provider: baseten · llm\n"
        "    Owner: ada\n"
        "    Since: 2026-03-02 11:40 UTC\n"
        "    • GPUIdle, warning, GPU 3 of node-1, now 2 %, worst 0 %"
    )
    receiver.close()


def test_each_change_is_a_line(bench: Any, make: Any) -> None:
    receiver = bench.build("console")
    again = make.note(reason=Reason.REPEAT, sequence=2, created_at=make.noon + 60)
    delivery = make.delivery(again, make.resolved(3, end_reason="job completed"), receipt={"told": "1"})
    delivery.now = make.noon + 660
    assert receiver.deliver(delivery) == {"told": "3"}
    assert bench.written == [
        "[r]   ↳ 2026-03-02 12:01 UTC Still firing after 21m: GPU 3 of train-7b has been idle for 20m (late by 10 min)",
        "[r]   ↳ 2026-03-02 12:10 UTC Closed after 30m because the job completed: GPUIdle, GPU 3 of node-1",
        "[r]     In all: 30m, worst 0 %, 0.33 GPU-hours affected.",
    ]
    receiver.deliver(delivery.__class__(delivery.notifications, delivery.current, {"told": "3"}, delivery.now))
    assert len(bench.written) == 3


def test_changes_that_wait_for_the_first_delivery_follow_it(bench: Any, make: Any) -> None:
    bench.build("console").deliver(make.delivery(make.note(), make.note(reason=Reason.KNOWN, sequence=2)))
    assert len(bench.written) == 2
    assert bench.written[1].startswith("[r]   ↳ 2026-03-02 12:00 UTC Data is back")


def test_what_was_over_before_it_could_be_said_is_one_text(bench: Any, make: Any) -> None:
    bench.build("console").deliver(make.delivery(make.note(), make.resolved(), now=make.noon + 720))
    [text] = bench.written
    assert text.startswith("[r] Resolved after 30m: GPUIdle, GPU 3 of node-1 on train-7b (late by 12 min)\n")
    assert text.endswith("• GPUIdle, warning, GPU 3 of node-1, resolved, worst 0 %")


def test_a_dry_run_prints_under_the_name_of_any_receiver(make: Any) -> None:
    written: list[str] = []
    console_receiver("ml-alerts", written.append).deliver(make.delivery())
    assert written[0].startswith("[ml-alerts] Warning: GPU 3")


def test_many_rules_are_counted_and_odd_addresses_left_out(bench: Any, make: Any) -> None:
    view = make.view(*(make.alert(name=f"R{n}") for n in range(10)), job=make.job(url="http://x/\x1b[31m"))
    bench.build("console").deliver(make.delivery(make.note(view)))
    assert bench.written[0].endswith("\n    and 2 more rules")
    assert "\x1b" not in bench.written[0]


def test_there_is_nothing_to_try(bench: Any) -> None:
    [remark] = bench.build("console").try_out()
    assert (remark.level, remark.text) == ("ok", "prints to standard output; there is nothing to try")
    assert bench.written == []
