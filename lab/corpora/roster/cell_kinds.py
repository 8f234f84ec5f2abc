"""Tasks that bring the cells of a column to one form, or divide them."""

from __future__ import annotations

from operator import mul

from lab.corpora import world
from lab.corpora.drafts import Built, Draft, table_task

# Quantity -> units, of 1, 10 and 1000 of the first.
_QUANTITIES = {
    "Weight": ("g", "dag", "kg"),
    "Length": ("mm", "cm", "m"),
    "Volume": ("ml", "cl", "l"),
}
_ACCENTS = str.maketrans("aeouAEOU", "äéöüÄÉÖÜ")


def measures(draft: Draft) -> Built:
    """Values with a decimal comma or point and one of three units become numbers of one unit."""
    rng = draft.rng
    quantity = rng.choice(list(_QUANTITIES))
    base, tens, thousands = _QUANTITIES[quantity]
    rows: list[tuple[object, ...]] = []
    gold: list[tuple[object, ...]] = []
    for number in range(draft.rows):
        amount = rng.randrange(105, 9_500)
        factor, unit = rng.choice(((1, base), (10, tens), (1000, thousands)))
        if number == 0:
            factor, unit = 1000, thousands
        digits = f"{amount / factor:.{len(str(factor)) - 1}f}"
        if number % 2 and factor > 1:
            digits = digits.replace(".", ",")
        space = rng.choice((" ", "", "  ")) if draft.dirty else " "
        text = f"{digits}{space}{unit.upper() if draft.dirty and number % 5 == 2 else unit}"
        if draft.hard and number % 7 == 3:
            text, amount = (str(amount), amount) if rng.random() < 0.6 else ("-", None)
        article = rng.choice(world.PRODUCTS)
        rows.append((number + 1, article, world.spaced(rng, text) if draft.dirty else text))
        gold.append((number + 1, article, amount))
    prompt = (
        f"Rename the column '{quantity}' to '{quantity} {base}' and turn its values into {base}, "
        "as numbers without a unit. A value is a number and a unit, in small or capital letters, "
        f"with or without spaces: {base}, {tens} (10 {base}) or {thousands} (1000 {base}). A comma "
        "is a decimal point; there are no thousands separators. A number without a unit is in "
        f"{base}. The value - becomes an empty cell. Keep the other columns."
    )
    golden = [("No", "Article", f"{quantity} {base}"), *gold]
    return table_task(prompt, [("No", "Article", quantity), *rows], golden)


def calendars(draft: Draft) -> Built:
    """Dates in several layouts, in one office with the month first, become YYYY-MM-DD."""
    rng = draft.rng
    column = rng.choice(("Shipped", "Ordered", "Due"))
    offices = rng.sample(world.CITIES, 3)
    rows: list[tuple[object, ...]] = []
    gold: list[tuple[object, ...]] = []
    for number in range(draft.rows):
        date, office = world.day(rng), rng.choice(offices)
        style = rng.randrange(6 if draft.hard else 5 if draft.dirty else 4)
        if number < 2:  # where the order can be mistaken
            date, office, style = date.replace(day=3 + rng.randrange(9)), offices[number], 0
            date = date.replace(month=date.day % 12 + 1)
        by_month = office == offices[0]
        first, second = (date.month, date.day) if by_month else (date.day, date.month)
        year = f"{date:%y}" if rng.random() < 0.5 and draft.hard else f"{date:%Y}"
        text = (
            f"{first:02}/{second:02}/{year}",
            f"{date:%Y-%m-%d}",
            f"{date.day} {date:%b} {date.year}",
            f"{date.day}.{date.month}.{date.year}",
            f"{date:%B} {date.day}, {date.year}",
            f"{date:%Y%m%d}",
        )[style]
        text = world.spaced(rng, text) if draft.dirty else text
        rows.append((f"P{300 + number}", office, text))
        gold.append((f"P{300 + number}", office, f"{date:%Y-%m-%d}"))
    prompt = (
        f"Write every date of the column '{column}' as YYYY-MM-DD and keep the other columns. "
        f"Dates with slashes are month/day/year in the office {offices[0]} and day/month/year in "
        "all other offices; a year of two digits belongs to this century (25 is 2025). Dates with "
        "dots are always day.month.year. Dates with dashes are year-month-day already. Months "
        "also stand as English names, in full or as their first three letters. Eight digits "
        "are YYYYMMDD. Ignore spaces around a date."
    )
    header = ("Parcel", "Office", column)
    return table_task(prompt, [header, *rows], [header, *gold])


def phones(draft: Draft) -> Built:
    """Telephone numbers in international form, with the prefix of a second table."""
    rng = draft.rng
    numbers = rng.sample(range(20, 99), 4)
    prefixes = dict(zip(rng.sample(world.REGIONS, 4), map(str, numbers), strict=True))
    rows: list[tuple[object, ...]] = []
    gold: list[tuple[object, ...]] = []
    for row in range(draft.rows):
        region, name = rng.choice(list(prefixes)), " ".join(world.person(rng))
        prefix, area = prefixes[region], str(rng.randrange(20, 990))
        local = str(rng.randrange(100_000, 9_999_999))
        parted = f"{local[:3]}{rng.choice((' ', '-', '/'))}{local[3:]}" if draft.dirty else local
        ways = [
            f"+{prefix} {area} {parted}",
            f"0{area} {parted}",
            f"0{area}/{parted}",
            f"00{prefix} {area} {parted}",
            f"(0{area}) {parted}",
            f"+{prefix} (0){area} {parted}",
        ]
        text = ways[1] if row == 0 else rng.choice(ways[: 6 if draft.hard else 5])
        result = f"+{prefix}{area}{local}"
        if draft.hard and row % 6 == 4:
            text, result = str(rng.randrange(100, 99_999)), "invalid"
        rows.append((name, region, text))
        gold.append((name, region, result))
    prompt = (
        "Write every number of the column 'Phone' in the form +PREFIXNUMBER, in this order: remove "
        "'(0)'; remove every character except digits and a + at the beginning; if fewer than 6 "
        "digits are left, write the word invalid. If the number begins with 00, write + in place "
        "of the 00. If it now begins with +, it is finished. Otherwise drop the one leading 0, if "
        "there is one, and put + and the prefix of the row's region in `prefixes.csv` before it. "
        "Keep the other columns."
    )
    header = ("Name", "Region", "Phone")
    listed = [("Region", "Prefix"), *prefixes.items()]
    return table_task(prompt, [header, *rows], [header, *gold], prefixes=listed)


def check_digits(draft: Draft) -> Built:
    """Codes with a check digit: right, wrong, or without one."""
    rng = draft.rng
    first, second = rng.choice(((3, 1), (1, 3), (7, 3), (3, 7)))
    weights = (first, second) * 3 + (first,)
    rows: list[tuple[object, ...]] = []
    gold: list[tuple[object, ...]] = []
    for number in range(draft.rows):
        digits = [rng.randrange(10) for _ in range(7)]
        check = -sum(map(mul, digits, weights)) % 10
        status = rng.choice(("ok", "ok", "wrong", "added" if draft.dirty else "ok"))
        if (
            number == 0
        ):  # the sum is a multiple of 10, for the fourth powers of the weights end in 1
            digits[0], check, status = (digits[0] + check * first**3) % 10, 0, "ok"
        last = (check + rng.randrange(1, 10)) % 10 if status == "wrong" else check
        code = "".join(map(str, [*digits, last]))
        text = code[:7] if status == "added" else code
        if draft.dirty:
            text = f"{text[:2]}{rng.choice((' ', '-'))}{text[2:]}"
        if draft.hard:
            text = f"{rng.choice(('No. ', 'C', ''))}{text[:6]}{rng.choice(('.', ' '))}{text[6:]}"
        article = rng.choice(world.PRODUCTS)
        rows.append((number + 1, article, text))
        gold.append((number + 1, article, code, status))
    prompt = (
        "A code has seven digits and a check digit. Write the columns No, Article, Code and "
        "Status. Code: only the digits of the code. Status: ok or wrong, as the check digit says. "
        "Where only seven digits stand, append the check digit and write added. The check digit: "
        f"multiply the seven digits, from left to right, in turn by {first} and {second} (the "
        f"first by {first}), add the products, and take what the sum lacks to the next multiple of "
        "10 (0 if it is one)."
    )
    golden = [("No", "Article", "Code", "Status"), *gold]
    return table_task(prompt, [("No", "Article", "Code"), *rows], golden)


def addresses(draft: Draft) -> Built:
    """Addresses in several orders, divided into their parts."""
    rng = draft.rng
    rows: list[tuple[object, ...]] = []
    gold: list[tuple[object, ...]] = []
    for _ in range(draft.rows):
        name = " ".join(world.person(rng))
        street, city = rng.choice(world.STREETS), rng.choice(world.CITIES)
        house = f"{rng.randint(1, 90)}{rng.choice(('', 'a', 'b')) if draft.hard else ''}"
        code = f"{rng.randrange(1000, 99_999):05}"
        unit = str(rng.randint(1, 40)) if draft.dirty and rng.random() < 0.5 else ""
        ahead = rng.random() < 0.5
        parts = [f"{house} {street}" if ahead else f"{street} {house}"]
        parts.append(f"{city} {code}" if draft.dirty and rng.random() < 0.5 else f"{code} {city}")
        if draft.hard and rng.random() < 0.4:
            parts.reverse()
        if unit:
            parts.insert(rng.randint(0, 2) if draft.hard else 0, f"Flat {unit}")
        comma = rng.choice((", ", ",", " , ")) if draft.hard else ", "
        rows.append((name, comma.join(parts)))
        gold.append((name, unit, street, house, code, city))
    prompt = (
        "Divide the column 'Address' into the columns Name, Flat, Street, House, Postcode and "
        "City. The parts of an address stand between commas, in any order. A part that begins with "
        "Flat holds the number of the flat (without it Flat stays empty). A part with a number of "
        "five digits holds postcode and city, either first. In the remaining part the house number "
        "(digits, perhaps with a letter) stands before or after the name of the street. Remove "
        "spaces around every value and keep the zeros of postcodes."
    )
    header = ("Name", "Flat", "Street", "House", "Postcode", "City")
    return table_task(prompt, [("Name", "Address"), *rows], [header, *gold])


def mojibake(draft: Draft) -> Built:
    """UTF-8 that was read as Latin-1, once or twice, is repaired."""
    rng = draft.rng
    rows: list[list[object]] = []
    gold: list[list[object]] = []
    for number in range(draft.rows):
        first, last = world.person(rng)
        clean = [f"{first} {last}", rng.choice(world.CITIES), f"{rng.choice(world.STREETS)} & Co"]
        clean = [text.translate(_ACCENTS) if rng.random() < 0.6 else text for text in clean]
        clean[0] = clean[0] if number else clean[0].translate(_ACCENTS)
        cells = list(clean)
        for column in range(3):
            times = rng.randrange(3 if draft.hard else 2) if number else 1
            for _ in range(times):
                cells[column] = cells[column].encode().decode("latin-1")
            if draft.dirty and rng.random() < 0.5:
                cells[column] = cells[column].replace("&", "&amp;")
        rows.append([number + 1, *cells])
        gold.append([number + 1, *clean])
    prompt = (
        "Some cells were stored as UTF-8 and read as Latin-1, some of them more than once, so that "
        "'é' became 'Ã©'. Repair every cell: encode its text as Latin-1 and decode that as UTF-8. "
        "Repeat this until one of the two fails or the text does not change any more; the text "
        "before the failure is the right one, also where the first attempt fails. Then write & "
        "in place of &amp;. Keep the columns and their names."
    )
    header = ("No", "Name", "City", "Firm")
    return table_task(prompt, [header, *rows], [header, *gold])
