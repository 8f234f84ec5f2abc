"""Words of the RULER generator: ours, so that no download is needed. None names a real thing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from random import Random
from typing import Literal

# What keys and values are made of.
Kind = Literal["words", "phrases", "numbers", "uuids"]

ADJECTIVES = [
    "amber",
    "brisk",
    "candid",
    "dapper",
    "eager",
    "faded",
    "gentle",
    "hollow",
    "idle",
    "jaunty",
    "keen",
    "lofty",
    "mellow",
    "nimble",
    "ornate",
    "placid",
    "quaint",
    "rustic",
    "sober",
    "tidy",
    "upbeat",
    "vivid",
    "wistful",
    "zesty",
    "ample",
    "bleak",
    "crisp",
    "dusky",
    "earnest",
    "feral",
    "glossy",
    "hardy",
    "ivory",
    "jovial",
    "knotty",
    "lunar",
    "mossy",
    "narrow",
    "oblong",
    "plucky",
    "quick",
    "ruddy",
    "silent",
    "tawny",
    "urban",
    "velvet",
    "woolly",
    "young",
    "ashen",
    "blunt",
    "coral",
    "dense",
    "exotic",
    "frosty",
    "grainy",
    "humble",
    "inky",
    "juicy",
    "kindly",
    "lucid",
    "misty",
    "noble",
    "olive",
    "plain",
    "regal",
    "salty",
    "tepid",
    "unique",
    "vacant",
    "windy",
]
NOUNS = [
    "anvil",
    "basin",
    "cactus",
    "dynamo",
    "easel",
    "falcon",
    "gazebo",
    "hamper",
    "igloo",
    "jigsaw",
    "kettle",
    "lagoon",
    "magnet",
    "nectar",
    "orchid",
    "pebble",
    "quiver",
    "ribbon",
    "saddle",
    "teapot",
    "urchin",
    "valley",
    "walnut",
    "yacht",
    "zephyr",
    "acorn",
    "beacon",
    "canyon",
    "dagger",
    "ember",
    "fiddle",
    "goblet",
    "hatchet",
    "inlet",
    "jasmine",
    "kernel",
    "lantern",
    "marble",
    "nutmeg",
    "otter",
    "pillow",
    "quartz",
    "rocket",
    "sparrow",
    "tunnel",
    "umbrella",
    "violin",
    "wagon",
    "xylem",
    "yarrow",
    "zipper",
    "almond",
    "bucket",
    "cobalt",
    "donkey",
    "engine",
    "ferret",
    "gravel",
    "helmet",
    "iris",
    "jacket",
    "ketch",
    "locket",
    "mitten",
    "napkin",
    "oyster",
    "parrot",
]
_ONSETS = [
    "b",
    "br",
    "c",
    "ch",
    "d",
    "dr",
    "f",
    "fl",
    "g",
    "gr",
    "h",
    "j",
    "k",
    "l",
    "m",
    "n",
    "p",
    "pl",
    "qu",
    "r",
    "s",
    "sh",
    "sl",
    "st",
    "t",
    "tr",
    "v",
    "w",
    "z",
]
_NUCLEI = ["a", "e", "i", "o", "u", "ai", "ea", "ee", "oa", "ou"]
_CODAS = ["", "", "", "b", "ck", "d", "l", "m", "n", "nd", "p", "r", "rk", "sh", "st", "t"]


def key_of(chance: Random) -> str:
    """A key of two words, `amber-anvil`."""
    return f"{chance.choice(ADJECTIVES)}-{chance.choice(NOUNS)}"


def number_of(chance: Random) -> str:
    """Seven digits, as in the public generator."""
    return str(chance.randint(1_000_000, 9_999_999))


def uuid_of(chance: Random) -> str:
    """A UUID (version 4) from the seed."""
    digits = f"{chance.getrandbits(128):032x}"
    variant = "89ab"[chance.randrange(4)]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


_MAKE: dict[Kind, Callable[[Random], str]] = {
    "words": key_of,
    # There are enough of three words for a haystack of needles.
    "phrases": lambda chance: f"{key_of(chance)}-{chance.choice(NOUNS)}",
    "numbers": number_of,
    "uuids": uuid_of,
}


def different(make: Callable[[], str]) -> Iterator[str]:
    """Different values, without end."""
    seen: set[str] = set()
    while True:
        value = make()
        if value not in seen:
            seen.add(value)
            yield value


def distinct(chance: Random, kind: Kind) -> Iterator[str]:
    """Different keys or values of a kind, without end."""
    return different(partial(_MAKE[kind], chance))


def invented(chance: Random, count: int) -> list[str]:
    """So many different invented words of two or three syllables."""

    def word() -> str:
        syllables = range(chance.choice((2, 2, 3)))
        return "".join(
            chance.choice(_ONSETS) + chance.choice(_NUCLEI) + chance.choice(_CODAS)
            for _ in syllables
        )

    return list(islice(different(word), count))


def letters(chance: Random, count: int, alphabet: str, length: int) -> list[str]:
    """So many different strings of random letters."""
    return list(islice(different(lambda: "".join(chance.choices(alphabet, k=length))), count))
