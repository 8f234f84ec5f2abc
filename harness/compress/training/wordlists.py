"""Words that the generators draw from."""

from __future__ import annotations

FUNCTION_WORDS = frozenset(
    "a an the of in on at to for from by with and or but as is are was were be been being am do "
    "does did has have had this that these those it its he she they them his her their we our "
    "you your i my who whom which what when where why how there here so than then also into over "
    "under about after before between during not no only such can could may might will would "
    "shall should must if while because all any each both more most other some very".split()
)
PLACES = frozenset(
    "states kingdom england france germany italy spain china india japan russia canada australia "
    "africa europe asia america london paris york california texas chicago washington berlin "
    "city county island islands river university ocean sea".split()
)
_SYNONYMS = (
    "founded established created started;won received gained earned;began started commenced;"
    "died passed deceased;born birth;located situated lies;made created produced;"
    "wrote authored penned;released published issued launched;built constructed erected;"
    "film movie picture;song track single;singer performer vocalist;actor performer star;"
    "capital seat;largest biggest greatest;smallest least tiniest;first earliest initial;"
    "last final latest;used employed applied utilised;known called named;called named known;"
    "killed murdered slain;defeated beat overcame;led headed directed;directed helmed;"
    "increased rose grew;decreased fell declined dropped;caused triggered produced;"
    "shows indicates demonstrates;showed indicated demonstrated revealed;found discovered seen;"
    "discovered found identified;contains includes holds;included contained comprised;"
    "children kids;people persons humans;country nation state;city town;company firm business;"
    "war conflict;money funds cash;illness disease sickness;disease illness disorder;"
    "infection disease;patients cases people;treatment therapy cure;study research paper;"
    "studies research papers;cells tissue;symptoms signs;virus pathogen;drug medicine;"
    "common frequent usual;rare uncommon;important key major significant;major main chief;"
    "main principal primary;types kinds forms;type kind sort;area region zone;region area;"
    "begin start;end finish stop;ended finished stopped;help assist aid;helped aided assisted;"
    "said stated told;says states tells;bought purchased acquired;sold vended;owned held;"
    "moved relocated went;joined entered;left departed quit;played performed appeared;"
    "role part character;season series;game match;team side club;player athlete;"
    "president leader head;king ruler monarch;government state administration;law act rule;"
    "allowed permitted let;required needed;need require;uses employs;provides gives offers;"
    "provided gave offered;became turned;remains stays;reached hit attained;"
    "approximately about around roughly;nearly almost;total overall;number count amount;"
    "percent percentage share;rate speed frequency;high elevated large;low small reduced;"
    "quickly fast rapidly;often frequently;several various many;many numerous;"
    "author writer;book novel work;member part;worked served;announced declared stated;"
    "discussed talked considered;think believe feel;decided agreed concluded;problem issue;"
    "cost price;remote controller;meeting session;idea proposal suggestion"
)
REWORDINGS: dict[str, tuple[str, ...]] = {
    head: tuple(others)
    for head, *others in (entry.split() for entry in _SYNONYMS.split(";"))
}
"""A word to words that may stand for it in a question."""

FIRST_NAMES = tuple(
    "Amara Bela Caleb Dagny Elias Farida Gustav Hana Idris Joan Kofi Leila Milo Nadia Oskar Priya "
    "Quentin Rosa Soren Tala Umar Vera Wendel Ximena Yusuf Zora".split()
)
LAST_NAMES = tuple(
    "Abara Brandt Castell Dvorak Eklund Fontaine Grieg Haddad Iversen Jansen Kowal Lindqvist "
    "Moreau Nakata Okafor Pereira Quist Rossi Santos Toivonen Ueda Varga Weiss Yilmaz Zeller".split()
)
THINGS = tuple(
    "harbor lantern orchard compass violin granite meadow falcon copper thimble cedar anchor "
    "velvet glacier pepper saddle comet ribbon walnut magnet turbine ledger beacon tunnel archive "
    "locker vault printer greenhouse warehouse ferry bakery workshop laboratory depot".split()
)
CITIES = tuple(
    "Lisbon Oslo Nairobi Quito Hanoi Turin Leeds Bergen Accra Lima Cork Gdansk Izmir Osaka Perth "
    "Tampa Utrecht Vilnius Windhoek Zagreb".split()
)
