"""Methods on planted worlds: ours, simple ones, and published optimizers beside it.

SIMULATED throughout (`lab.worlds`). A method reads the same attempts and the same analysts' records
as every other, and gives the text of a skill; published optimizers make attempts of their own
through an :class:`arena.Arena`, which counts their calls.
"""
