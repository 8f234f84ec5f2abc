"""Adversarial Taboo (SPAG, arXiv 2404.10642): who won, what each utterance earns, and the vault.

The attacker leads the defender to utter a word that only the attacker knows; the defender may
guess it, once. Only the winner's utterances earn something, later ones more; a game that is tied,
or whose attacker broke the rules, earns nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from harness.core import HarnessError, Value
from harness.models import Model
from harness.synth.asking import say

Role = Literal["attacker", "defender"]
Outcome = Literal["defender wins", "attacker wins", "attacker breaks the rules", "tied game"]
TURNS = 5
"""Utterances of each side, at most."""
DISCOUNT = 0.8
_GUESS = re.compile(r"\bi know the word\W+it(?:'s|\s+is|\s+must be)?\b(.*)", re.DOTALL)
_ARTICLES = ("a", "an", "the", "word", "is")
_VOWELS = "aeiou"


class WordLeaked(HarnessError):
    """The defender was about to read the word: a fault of this program, never of a player."""


class Utterance(Value):
    """Words of a player."""

    role: Role
    content: str


class Reward(Value):
    """Reward of an utterance of a winner.

    Attributes:
        game: its place among the games.
        turn: its place in the game.
        reward: of all of a winner's utterances in a game, these sum to 1.
        weight: N / (2 N_role) over the games that were won: both roles weigh alike.
    """

    game: int
    turn: int
    role: Role
    reward: float
    weight: float


def plain(text: str) -> str:
    """Folded case, plain characters, none that are invisible."""
    folded = unicodedata.normalize("NFKD", text).casefold()
    return "".join(sign for sign in folded if unicodedata.category(sign) not in ("Mn", "Cf"))


def forms(word: str) -> set[str]:
    """The word with the endings that count as it: plural, -ing, -ed, -er, by English spelling."""
    base = plain(word).strip()
    stems = {base}
    if base.endswith("e"):
        stems.add(base[:-1])
    if len(base) > 2 and base[-1] not in f"{_VOWELS}wxy" and base[-2] in _VOWELS:
        stems.add(base + base[-1])
    endings = {stem + end for stem in stems for end in ("ing", "ed", "er", "ers")}
    if base.endswith("y"):
        endings |= {base[:-1] + end for end in ("ies", "ied", "ier")}
    return {base, base + "s", base + "es", f"{base}'s", *endings}


def holds(text: str, word: str) -> bool:
    """Find the word in a text in a form that counts, quoted or spelt out letter by letter."""
    read = plain(text)
    shapes = "|".join(sorted(map(re.escape, forms(word)), key=len, reverse=True))
    spelt = r"[\W_]+".join(re.escape(sign) for sign in plain(word) if sign.isalnum())
    return bool(re.search(rf"(?<![^\W_])(?:{shapes}|{spelt})(?![^\W_])", read))


def guess_of(text: str) -> str | None:
    """Read a defender's guess; None where it does not guess."""
    match = _GUESS.search(plain(text))
    return match[1] if match else None


def outcome(game: Sequence[Utterance], word: str) -> tuple[Outcome, int]:
    """Return the winner, and the number of utterances it took."""
    for turn, utterance in enumerate(game, start=1):
        guess = guess_of(utterance.content)
        if utterance.role == "attacker":
            if guess is not None or holds(utterance.content, word):
                return "attacker breaks the rules", turn
        elif guess is not None:
            words = [part for part in re.findall(r"[\w'-]+", guess) if part not in _ARTICLES]
            right = " ".join(words) in forms(word)
            return ("defender wins" if right else "attacker wins"), turn
        elif holds(utterance.content, word):
            return "attacker wins", turn
    return "tied game", len(game)


def rewards(games: Sequence[tuple[Sequence[Utterance], str]]) -> list[Reward]:
    """Rewards of the winners' utterances.

    The k-th of K gets g^k / sum_j g^j with g = 1 / 0.8, counted from 1. What a player said after
    the end earns nothing.

    Args:
        games: each with its word.
    """
    winners: list[tuple[int, Role, list[int]]] = []
    for number, (game, word) in enumerate(games):
        result, length = outcome(game, word)
        if result in ("defender wins", "attacker wins"):
            role: Role = "defender" if result == "defender wins" else "attacker"
            turns = [n for n, utterance in enumerate(game[:length]) if utterance.role == role]
            winners.append((number, role, turns))
    won = Counter(role for _, role, _ in winners)
    rows: list[Reward] = []
    for number, role, turns in winners:
        powers = [(1 / DISCOUNT) ** k for k in range(1, len(turns) + 1)]
        rows += [
            Reward(
                game=number, turn=turn, role=role, reward=power / sum(powers),
                weight=len(winners) / (2 * won[role]),
            )
            for turn, power in zip(turns, powers, strict=True)
        ]  # fmt: skip
    return rows


@dataclass
class Table:
    """The context of `graphs/taboo.py`: two players, and a vault between them.

    Attributes:
        sealed: the word, which no request to the defender may hold.
        seed: of the players' sampling.
    """

    attacker: Model
    defender: Model
    sealed: str
    seed: int = 41

    async def speak(self, role: Role, system: str, game: Sequence[Utterance]) -> str:
        """Return the next utterance of a player, who sees its own and the other's.

        Args:
            role: the player.
            system: its rules.
            game: what was said.

        Raises:
            Unjudged: if the model cannot be asked.
            WordLeaked: if a request to the defender holds the word; it is not sent.
        """
        parts = ["assistant" if utterance.role == role else "user" for utterance in game]
        messages = [{"role": "system", "content": system}]
        messages += [{"role": p, "content": s.content} for p, s in zip(parts, game, strict=True)]
        if parts[:1] != ["user"]:
            messages.insert(1, {"role": "user", "content": "Begin."})
        if role == "defender" and any(holds(row["content"], self.sealed) for row in messages):
            raise WordLeaked("a request to the defender holds the word: it was not sent")
        model = self.attacker if role == "attacker" else self.defender
        return await say(model, messages, seed=self.seed + len(game), temperature=0.7, tokens=200)
