"""Functions of this skill, each proven on the tasks named below it by running it."""

import functools
import os

FILES = {}


def for_files(*names):
    def mark(function):
        @functools.wraps(function)
        def call(*values, **named):
            try:
                return function(*values, **named)
            except Exception as error:
                near = [name for name, files in FILES.items() if all(map(os.path.exists, files))]
                near = ", ".join(name for name in near if name != function.__name__) or "none"
                raise RuntimeError(
                    f"{function.__name__} is not for this task, or its values are wrong: {error!r}."
                    f" Functions of helpers for files like these: {near}."
                ) from None

        FILES[function.__name__] = names
        return call

    return mark


def __getattr__(name):
    words = set(name.split("_"))
    shared = {text: len(words & set(text.split("_"))) for text in FILES}
    best = [text for text in FILES if shared[text] == max(shared.values()) > 0]
    if len(best) == 1 and not name.startswith("__"):
        return globals()[best[0]]
    raise AttributeError(f"no function {name!r}; there are {', '.join(FILES)}")



@for_files('table.csv')
def rename_column(column, column_2, values, spaces, value, *_, **__):
    """Rename the column <column> to <column_2> and turn its values into <values>, as numbers without a unit. ... letters, with or without spaces: ..., <spaces> (10 ...) or <value> (1000 ...)."""
    import csv
    import re
    FACTORS = {values: 1, spaces: 10, value: 1000}
    with open('table.csv', newline='', encoding='utf-8') as f:
        header, *rows = csv.reader(f)
    col = header.index(column)
    header[col] = column_2
    for row in rows:
        text = row[col].strip().lower().replace(',', '.')
        if text == '-':
            row[col] = ''
        elif text:
            number, unit = re.fullmatch('([-+]?[\\d.]+)\\s*([a-z]*)', text).groups()
            row[col] = round(float(number) * FACTORS[unit or values], 6)
    with open('output.csv', 'w', newline='', encoding='utf-8') as f:
        csv.writer(f).writerows([header] + rows)
    return ''
# proven on: roster-train-000, roster-train-008, roster-train-016, roster-train-024, roster-train-032, roster-train-040, roster-train-048, roster-train-056, roster-train-064


@for_files('table.csv')
def row_to_name_and_born(*_, **__):
    """Some people stand in several rows under different spellings."""
    import csv
    import unicodedata
    people = {}
    with open('table.csv', newline='', encoding='utf-8') as f:
        for row in csv.DictReader(f):
            name = ' '.join(reversed(row['Name'].split(',')))
            name = unicodedata.normalize('NFD', name).lower().replace('.', '')
            name = ''.join((c for c in name if not unicodedata.combining(c)))
            words = tuple((word for word in name.split() if len(word) > 1))
            first = people.setdefault((words, row['Born']), [row['Name'], row['Born'], 0])
            first[2] += int(row['Visits'])
    with open('output.csv', 'w', newline='', encoding='utf-8') as f:
        csv.writer(f).writerows([['Name', 'Born', 'Visits'], *people.values()])
    return ''
# proven on: roster-train-001, roster-train-009, roster-train-017, roster-train-025, roster-train-033, roster-train-041, roster-train-049, roster-train-057, roster-train-065


@for_files('table.csv')
def date_to_string(column, office_2, *_, **__):
    """Write every date of the column <column> as YYYY-MM-DD and keep the ... ... slashes are month/day/year in the office <office_2> and day/month/year in all other ..."""
    import csv
    from datetime import datetime
    FORMATS = ['%d.%m.%Y', '%Y-%m-%d', '%Y%m%d', '%d %B %Y', '%d %b %Y', '%B %d, %Y', '%b %d, %Y']
    with open('table.csv', newline='', encoding='utf-8') as f:
        header, *rows = csv.reader(f)
    office, date = (header.index('Office'), header.index(column))
    for row in rows:
        slashes = ['%m/%d/%Y', '%m/%d/%y'] if row[office] == office_2 else ['%d/%m/%Y', '%d/%m/%y']
        for form in slashes + FORMATS:
            try:
                row[date] = datetime.strptime(row[date].strip(), form).strftime('%Y-%m-%d')
                break
            except ValueError:
                pass
    with open('output.csv', 'w', newline='', encoding='utf-8') as f:
        csv.writer(f).writerows([header] + rows)
    return ''
# proven on: roster-train-002, roster-train-010, roster-train-018, roster-train-026, roster-train-034, roster-train-042, roster-train-050, roster-train-058, roster-train-066


@for_files('table.csv')
def some_them_whose(*_, **__):
    """Some rows go on in the rows below them: a row whose Ticket is empty belongs to the ..."""
    import csv
    with open('table.csv', newline='', encoding='utf-8') as f:
        tickets = []
        for row in csv.DictReader(f):
            minutes, note = (int(row['Minutes'] or 0), row['Note'].strip())
            if row['Ticket'].strip():
                tickets.append({**row, 'Note': note, 'Minutes': minutes})
            else:
                last = tickets[-1]
                before = last['Note']
                last['Note'] = before[:-1] + note if before.endswith('-') else f'{before} {note}'.strip()
                last['Minutes'] += minutes
    with open('output.csv', 'w', newline='', encoding='utf-8') as f:
        writer = csv.DictWriter(f, ['Ticket', 'Customer', 'Note', 'Minutes'])
        writer.writeheader()
        writer.writerows(tickets)
    return ''
# proven on: roster-train-003, roster-train-011, roster-train-019, roster-train-027, roster-train-035, roster-train-043, roster-train-051, roster-train-059, roster-train-067


@for_files('prefixes.csv', 'table.csv')
def clean_phone_number(*_, **__):
    """Write every number of the column 'Phone' in the form +PREFIXNUMBER, in this order: remove '(0)'; remove every ..."""
    import csv
    import re
    with open('prefixes.csv', newline='', encoding='utf-8') as f:
        prefixes = {row['Region']: row['Prefix'] for row in csv.DictReader(f)}
    with open('table.csv', newline='', encoding='utf-8') as f:
        header, *rows = csv.reader(f)
    region, phone = (header.index('Region'), header.index('Phone'))
    for row in rows:
        number = re.sub('(?!^\\+)\\D', '', row[phone].replace('(0)', '').strip())
        if len(number.lstrip('+')) < 6:
            number = 'invalid'
        elif number.startswith('00'):
            number = '+' + number[2:]
        elif not number.startswith('+'):
            number = '+' + prefixes[row[region]] + number.removeprefix('0')
        row[phone] = number
    with open('output.csv', 'w', newline='', encoding='utf-8') as f:
        csv.writer(f).writerows([header] + rows)
    return ''
# proven on: roster-train-004, roster-train-012, roster-train-020, roster-train-028, roster-train-036, roster-train-044, roster-train-052, roster-train-060, roster-train-068


@for_files('table.csv')
def table_to_csv(*_, **__):
    """table.csv is a printed list."""
    import csv
    import re
    result = [['Section', 'Product', 'Units', 'Amount']]
    with open('table.csv', newline='', encoding='utf-8') as f:
        header, *rows = csv.reader(f)
    for row in rows:
        product, units, amount = (cell.strip() for cell in row)
        if product and units and amount:
            if row != header:
                result.append([section, product, units, amount])
        elif product and (not units) and (not amount) and (not re.fullmatch('Page \\d+ of \\d+', product)):
            section = product.replace('(continued)', '').strip()
    with open('output.csv', 'w', newline='', encoding='utf-8') as f:
        csv.writer(f).writerows(result)
    return ''
# proven on: roster-train-005, roster-train-013, roster-train-021, roster-train-029, roster-train-037, roster-train-045, roster-train-053, roster-train-061, roster-train-069


@for_files('table.csv')
def missing_around_case(ones, *_, **__):
    """A value is missing if its cell, without spaces around ... letters, is empty or one of: <ones>. 0 is a value."""
    ones = [ones] if isinstance(ones, str) else list(ones)
    import csv
    from statistics import mean
    MISSING = ones
    with open('table.csv', newline='', encoding='utf-8') as f:
        header, *rows = csv.reader(f)
    department, hours = (header.index('Department'), header.index('Hours'))
    for row in rows:
        for col in (department, hours):
            row[col] = '' if row[col].strip().lower() in MISSING else row[col].strip()
    rows = [row for row in rows if row[department] or row[hours]]
    known = {}
    for row in rows:
        row[department] = row[department] or 'unknown'
        if row[hours]:
            known.setdefault(row[department], []).append(float(row[hours]))
    for row in rows:
        row[hours] = row[hours] or round(mean(known[row[department]]), 2)
    with open('output.csv', 'w', newline='', encoding='utf-8') as f:
        csv.writer(f).writerows([header] + rows)
    return ''
# proven on: roster-train-006, roster-train-014, roster-train-022, roster-train-030, roster-train-038, roster-train-046, roster-train-054, roster-train-062, roster-train-070


@for_files('rules.csv', 'table.csv')
def rules_to_category(*_, **__):
    """Add a last column Category to table.csv, by the rules in rules.csv: the category of the first rule, ..."""
    import csv
    import re
    from fnmatch import fnmatchcase
    with open('rules.csv', newline='', encoding='utf-8') as f:
        rules = list(csv.reader(f))[1:]
    with open('table.csv', newline='', encoding='utf-8') as f:
        header, *rows = csv.reader(f)
    text = header.index('Text')
    for row in rows:
        words = re.findall('\\w+', row[text].lower())
        fits = (name for word, name in rules if any((fnmatchcase(w, word.lower()) for w in words)))
        row.append(next(fits, 'Other'))
    with open('output.csv', 'w', newline='', encoding='utf-8') as f:
        csv.writer(f).writerows([header + ['Category']] + rows)
    return ''
# proven on: roster-train-007, roster-train-015, roster-train-023, roster-train-031, roster-train-039, roster-train-047, roster-train-055, roster-train-063, roster-train-071
