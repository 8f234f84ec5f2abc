"""Which requests may run together: a seeded one draws alone, an untried schema starts alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.engines.embedded.engine import Traits, admissible

GREEDY = Traits()
SAMPLED = Traits(sampled=True)
SEEDED = Traits(sampled=True, seeded=True)
UNTRIED = Traits(untried=True)

traits = st.lists(st.sampled_from([GREEDY, SAMPLED, SEEDED, UNTRIED]), max_size=8)


def test_greedy_overtakes_a_seeded_request_that_waits_but_sampled_does_not() -> None:
    assert admissible([SEEDED, SAMPLED, GREEDY], [SAMPLED]) == [2]


def test_untried_schema_waits_for_an_empty_engine_and_lets_nothing_overtake() -> None:
    assert admissible([GREEDY, UNTRIED, GREEDY], []) == [0]
    assert admissible([UNTRIED, GREEDY], []) == [0]
    assert admissible([UNTRIED, GREEDY], [GREEDY]) == []
    assert admissible([GREEDY], [UNTRIED]) == []


@given(traits, st.lists(st.sampled_from([GREEDY, SAMPLED]), max_size=4))
def test_running_set_keeps_its_promises(waiting: list[Traits], running: list[Traits]) -> None:
    together = running + [waiting[index] for index in admissible(waiting, running)]
    drawing = [request for request in together if request.sampled]
    assert not any(request.seeded for request in drawing) or len(drawing) == 1
    assert not any(request.untried for request in together) or len(together) == 1


@given(traits)
def test_nothing_waits_for_ever(waiting: list[Traits]) -> None:
    rounds = 0
    while waiting:
        chosen = admissible(waiting, [])
        assert chosen, "an empty engine admits somebody"
        waiting = [request for index, request in enumerate(waiting) if index not in chosen]
        rounds += 1
    assert rounds <= 8
