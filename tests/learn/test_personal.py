"""Personal data is listed before anything is sent; code is hardly ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.learn import REVIEW, LearnSettings, gather
from harness.learn.personal import personal_data
from tests.learn.clients import write_claude

LINES = """
name of a person | please ask Priya Raghunathan about it | Priya Raghunathan
name of a person | # reviewed by Björn Håkansson | Björn Håkansson
name of a person | Employee: van der Berg, Sanne | van der Berg
telephone number | call me on +44 7911 123456 if it breaks | +44 7911 123456
telephone number | "mobile": "0612345678" | 0612345678
street or postal address | lives at Hauptstraße 12, 10115 Berlin | Hauptstraße 12
street or postal address | ship to 1428 Elm Street, Springfield | 1428 Elm Street
date of birth or age | date_of_birth = '12/05/1990' | 12/05/1990
identity document or number | passport no. X1234567 | X1234567
identity document or number | CPF 529.982.247-25 | 529.982.247-25
health or belief | NHS number 943 476 5919 | 943 476 5919
account or money | GB29NWBK60161331926819 | GB29NWBK60161331926819
account or money | card 4111 1111 1111 1111 | 4111 1111 1111 1111
network address | login from 84.23.118.9 | 84.23.118.9
user name | open /Users/mjohansson/shop/app.py | mjohansson
name of a person | 担当者: 田中太郎 | 田中太郎
name of a person | اسم العميل: محمد أحمد | محمد أحمد
name of a person | P<UTOERIKSSON<<ANNA<MARIA<<<<<<< | P<UTOERIKSSON<<ANNA<MARIA<<<<<<<
street or postal address | 주소: 서울특별시 강남구 테헤란로 123 | 서울특별시 강남구 테헤란로 123
identity document or number | RUT 12.345.678-5 | 12.345.678-5
identity document or number | plate B-MX 4821 was seen | B-MX 4821
health or belief | the patient has type 2 diabetes | diabetes
user name | GET /reset?mail=anna.schmidt%40firma-mail.de | anna.schmidt%40firma-mail.de
place on a map | lat: 52.520008, lon: 13.404954 | 52.520008
name of a person | AU-Bescheinigung Sören Matthiesen, 6 Wochen | Sören Matthiesen
name of a person | open /data/Ilse_Bergmann_Vertrag_2024.pdf | Ilse_Bergmann
name of a person | 1042;Szymańska, Jadwiga;2025-09-30 | Szymańska, Jadwiga
name of a person | GET /api/employees/marit-solvang/payslips | marit-solvang
name of a person | 担当者:佐々木 美穂 様 | 佐々木 美穂
telephone number | Rückruf unter 0171 / 48 22 917, bitte | 0171 / 48 22 917
identity document or number | Social Insurance Number (SIN): 546-766-692 | 546-766-692
identity document or number | the last four of social: 7306 | 7306
identity document or number | MBI 4KX7-QA3-WT62 | 4KX7-QA3-WT62
account or money | routing 021000021, account 613354311778 | 613354311778
customer, order or staff number | order number 4711-0815 | 4711-0815
"""


@pytest.mark.parametrize("row", LINES.strip().split("\n"))
def test_kinds_of_personal_data_are_told(row: str) -> None:
    kind, line, value = row.split(" | ")
    assert (1, kind, value) in list(personal_data(line))


@pytest.mark.parametrize(
    "line",
    [
        "return [Path(name) for name in sorted(names)]  # Return True",
        "card = {'number': 4111111111111112}",  # no check digit
        "released in 2024-03-12 as version 1.2.3.4 at 127.0.0.1:8080",
        "Claude Code runs Visual Studio Code on Windows Server",
        "assert order_id == orders[0].id and customer.name is None",
        "3f2c9a1b-8d7e-4c5a-9b1f-0123456789ab 2026-03-01T09:00:00.000Z",
    ],
)
def test_lines_of_code_are_not_listed(line: str) -> None:
    assert list(personal_data(line)) == []


def test_personal_data_stands_on_the_page_with_its_line(tmp_path: Path) -> None:
    asked = ("user", "Mend the order of Priya Raghunathan, +44 7911 123456.")
    green = ("sh", "pytest -q", "4 passed in 0.10s", 0)
    write_claude(tmp_path / ".claude", "s1", (asked, ("edit", "prices.py"), green))
    settings = LearnSettings(out=tmp_path / "out", rebuild=False)
    gather(settings, environment={"HOME": str(tmp_path)})
    page = (settings.out / REVIEW).read_text()
    sent = settings.out / "sent" / "claude-code-s1.txt"
    assert f"  look at {sent}:2: name of a person: Priya Raghunathan" in page
    assert f"  look at {sent}:2: telephone number: +44 7911 123456" in page
