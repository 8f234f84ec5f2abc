"""The planted-failure benchmark: what an evolution recovers of failures that were planted.

SIMULATED throughout. An agent profile (`simulated/orders`) has twelve planted failure modes and
one that a bad rule switches on; an analyst profile (`simulated/orders-analyst`) reads its logs and
errs at a given rate. The profiles share nothing: a failure is switched off if a line of the skill
entails the remedy. A method is a function `learn(arena) -> str` that returns the text of a skill;
:class:`arena.Arena` is all it may use, and counts its calls.
"""
