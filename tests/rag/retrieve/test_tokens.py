"""Words of the lexical index, and the language of a text."""

from __future__ import annotations

import pytest

from harness.rag.retrieve import identify_language
from harness.rag.retrieve.text import asked_terms, compound_parts, words


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The boundary-layer flows", ["boundary", "layer", "boundarylayer", "flow"]),
        ("getUserName()", ["get", "user", "name", "getusername"]),
        ("max_open_files", ["max", "open", "file", "maxopenfile"]),
        ("error 0x3F at 3.14 and 1,234", ["error", "0x3f", "3.14", "1,234"]),
        ("東京都の天気", ["東京", "京都", "都の", "の天", "天気"]),
        ("iPhoneを買う", ["phone", "iphone", "を買", "買う"]),
        ("studies glass bus classes", ["study", "glass", "bus", "classe"]),
        ("ﬁne Ｗｉｄｅ", ["fine", "wide"]),  # noqa: RUF001  # compatibility forms are the point
        ("...", []),
    ],
)
def test_words(text: str, tokens: list[str]) -> None:
    assert words(text) == tokens


def test_words_that_ask_are_not_searched_for_but_alone() -> None:
    assert asked_terms("Why does the pump stop, and how many do?") == ["pump", "stop"]
    assert asked_terms("How many would do?") == ["how", "mani", "would", "do"]


def test_a_compound_is_split_only_where_every_part_is_known() -> None:
    known = {"wärme", "übertragung", "gesellschaft", "versicherung"}
    assert compound_parts("wärmeübertragung", known) == ["wärme", "übertragung"]
    assert compound_parts("versicherungsgesellschaft", known) == ["versicherung", "gesellschaft"]
    assert compound_parts("versicherungskunde", known) == []
    assert compound_parts("wärme", known) == []


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "what similarity laws must be obeyed when constructing aeroelastic models"),
        ("en", "Where do a majority of the clerks tend to work?"),  # half of it is Czech, too
        ("de", "Die Wärme wird mit dem Wasser auf die andere Seite übertragen."),
        ("fr", "Le chat est sur la table et les enfants sont dans le jardin."),
        ("es", "El gato está en la mesa y los niños juegan en el jardín con una pelota."),
        ("es", "¿Quién fue el rey de la ciudad?"),
        ("fr", "Le roi de la ville est un homme."),
        ("it", "Il re della città è un uomo con la corona."),
        ("pt", "O rei da cidade é um homem de coroa."),
        ("nl", "Het huis is niet op de berg, maar aan de zee met een tuin."),
        ("sv", "Det är en bok som inte finns på biblioteket och att köpa den."),
        ("pl", "To jest książka, która nie jest na stole, i to się nie zmieni."),
        ("ja", "東京は日本の首都です。"),
        ("zh", "北京是中国的首都。"),
        ("ko", "서울은 대한민국의 수도이다."),
        ("ru", "Москва является столицей России."),
        ("uk", "Київ є столицею України, її найбільшим містом."),
        ("ar", "القاهرة هي عاصمة مصر."),
        (None, "12 34 56 | 78"),
        (None, "ISO-9001 DN50 PN16"),
    ],
)
def test_language(language: str | None, text: str) -> None:
    assert identify_language(text) == language
