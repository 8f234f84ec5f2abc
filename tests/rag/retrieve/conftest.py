"""Documents and an index that the tests of this room share."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.rag.retrieve import Chunking, Document, Heading, LocalIndex, create_index, open_encoder

TOPICS = {
    "tides": "The moon pulls the ocean. High tide comes twice a day at most coasts. "
    "Spring tides are strongest when sun and moon stand in line.",
    "bread": "Yeast makes dough rise. A baker kneads wheat flour with water and salt. "
    "The loaf bakes at 230 degrees for 35 minutes.",
    "wings": "A wing in a propeller slipstream gains lift. The boundary-layer separates at a "
    "high angle of attack. Flutter limits the speed of the aircraft.",
    "banks": "The central bank raised its interest rate to 4.25 percent. Inflation had reached "
    "six percent. Lending slowed in the spring.",
    "orbits": "A satellite in a geostationary orbit stays above one point. Its period is one "
    "sidereal day. The altitude is 35,786 kilometres.",
}


@pytest.fixture
def documents() -> list[Document]:
    """Five documents on five topics, with years."""
    return [
        Document(
            id=f"{name}.md",
            text=f"# {name.title()}\n\n{text}\n",
            source=f"/library/{name}.md",
            headings=(Heading(0, 1, name.title()),),
            metadata={"title": name.title(), "year": 2020 + number, "language": "en"},
        )
        for number, (name, text) in enumerate(TOPICS.items())
    ]


@pytest.fixture
def index(tmp_path: Path, documents: list[Document]) -> LocalIndex:
    """The five documents in an index of small chunks."""
    found = create_index(tmp_path / "index", open_encoder("lexical"), SMALL)
    found.add(documents)
    return found


SMALL = Chunking(size=20, overlap=0, parent=60)
