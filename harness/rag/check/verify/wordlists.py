"""Closed classes of English words that decide what a sentence says."""

from __future__ import annotations

from harness.rag.check.verify.stems import stem


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, text.split()))


FUNCTION_WORDS = _words(
    """a an the and or but if of in on at by for with from to into onto than then that this these
    those it its it's is are was were be been being am do does did done has have had having he she
    they him their her hers them theirs his we us our you your i me my who whom whose which what
    when where how why as so such there here also too very just about over under after before
    during between through up down out off again can could may might must shall should will would
    not no nor own same s t re ve ll d 's each both any all some most more less other another
    while because until although though however"""
)
NEGATIONS = _words(
    """not no never none nobody nothing neither nor without cannot can't won't don't doesn't didn't
    isn't aren't wasn't weren't hasn't haven't hadn't couldn't wouldn't shouldn't hardly rarely
    barely fail fails failed refuse refuses refused deny denies denied unable lack lacks lacked
    stop stops stopped prevent prevents prevented avoid avoids"""
)
RISING = _stems(
    """more higher increase increased rise rose risen up above over exceed exceeded greater larger
    grow grew growth gain gained better best most improve after later win won maximum upper add
    added strong stronger positive"""
)
FALLING = _stems(
    """less lower decrease decreased fall fell fallen down below under smaller fewer shrink drop
    dropped decline declined loss lost worse worst least worsen before earlier lose minimum reduce
    reduced weak weaker negative"""
)
ABSOLUTES = _words("all every each only always never entirely none solely must any")
HEDGES = _words(
    """may might could possibly perhaps about around approximately nearly almost some often
    sometimes usually likely reportedly allegedly expected planned would should can"""
)
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
CALENDAR = frozenset(map(str.lower, MONTHS)) | _words(
    "monday tuesday wednesday thursday friday saturday sunday"
)
NUMBER_WORDS = {
    "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
    "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "thirteen": "13", "fourteen": "14",
    "fifteen": "15", "sixteen": "16", "seventeen": "17", "eighteen": "18", "nineteen": "19",
    "twenty": "20",
}  # fmt: skip
