"""Secrets by what stands around them: names, flags of programs, headers, lines of known files."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

from harness.core.redaction.form import Form, FormTable, Span, compiled, form
from harness.core.redaction.tokens import TOKENS

_WORD_HINTS = ("pass", "secret", "key", "token", "credential", "pwd")
_WORDS = (
    r"(?:passw(?:or)?d|passphrase|secret|api[_-]?key|access[_-]?key|secret[_-]?key(?:[_-]?base)?"
    r"|private[_-]?key|token|credentials?|pwd|[_.-]pass)"
)
NAME = rf"[\w.-]*{_WORDS}"
"""A name of a secret, whatever its case; a search needs its end alone."""
_FOREIGN = (
    "passwort", "kennwort", "contraseña", "mot de passe", "senha", "wachtwoord", "пароль", "密码",
    "密碼", "口令", "パスワード", "비밀번호", "hasło", "lösenord", "heslo", "parola",
    "adgangskode", "salasana", "şifre",
)  # fmt: skip
"""The word for a password in languages whose word is another one."""
_VARIABLE = (
    r"(?:(?<=[A-Z0-9_])(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|CREDENTIALS?|PWD)"
    r"|(?:API_?KEY|ACCESS_KEY|PRIVATE_KEY|SECRET_KEY(?:_BASE)?)"
    r"|(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|(?<=[A-Z0-9]_)PASS)(?==))"
)
# A value without quotes: no variable, template, call or subscript, and not what ends a sentence,
# a list or a block. Within it any mark may stand: passwords hold them.
# A pair of brackets within a word is no call.
_START = (
    r"(?!\$[\w{(]|[<{}()\[=:-])"
    r"(?![\w./]{0,99}[(\[](?![^\s()\[\]\"']{1,30}[)\]][A-Za-z0-9#&]))"
)
_BODY, _END = r"[^\s\"'`]", r"[^\s\"'`,;:.)\]}>\\]"
_QUOTED = r"(?P<mark>[\"'`])(?P<value>(?:\\.|(?!(?P=mark))[^\s\\]){6,})(?P=mark)"
_MIXED = r"(?=\S{0,99}[A-Za-z])(?=\S{0,99}[0-9!#$%^&*?~])"
_IS = r"\\?[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?"
"""Between a name and its value, in files of many kinds, which a log may have quoted."""
_IN_QUOTES = r"\\?(?P<mark>[\"'])(?P<value>(?:(?!(?P=mark))[^\n\\]){3,200})\\?(?P=mark)"
_GIVEN = rf"(?:{_IN_QUOTES}|(?P<bare>(?![-$<{{\[\"'\\])[^\s\"'`|;&<>\\]{{3,200}}))"
"""What a program is given: in quotes anything, else a word."""
_FLAG = r"(?:\w{1,20}-)?(?:password|passwd|passphrase|pass|pwd|secret|api-?key)"
# programs | the flag in front of the password | hints
_PROGRAMS = r"""
mysql\w*|mariadb[\w-]*|mycli | -p | mysql mariadb mycli
7z\w?|rar|unrar | -h?p | 7z rar
sshpass | -p[ \t]* | sshpass
mongo\w* | -p[ \t]+ | mongo
(?:docker|podman|nerdctl|helm|skopeo|oc|az)[ \t][^\n|;&]{0,40}?login | -p[ \t]* | login
redis-cli | -a[ \t]* | redis-cli
ldap\w* | -[wx][ \t]+ | ldap
zip|unzip|sqlcmd|bcp|isql | -P[ \t]* | zip sqlcmd bcp isql
plink|pscp|psftp | -pw[ \t]+ | plink pscp psftp
smbclient|rpcclient|winexe | -U[ \t]*[^\s%]{1,99}% | smbclient rpcclient winexe
htpasswd | -\w{0,5}b\w{0,5}[ \t]+\S{1,200}[ \t]+\S{1,99}[ \t]+ | htpasswd
openssl | (?:-pass(?:in|out)?[ \t]+pass:|-k[ \t]+) | openssl
"""
_COMMON = re.compile(
    r"\b(?:the|and|for|with|was|are|from|not|but|its|has|had|his|her|than|were|been|which|would|could"
    r"|who|how|why|your|our|may|out|their)\b"
)
"""Words of sentences that the lists of seed phrases do not hold."""


def _program_forms() -> Iterator[Form]:
    for row in filter(None, _PROGRAMS.splitlines()):
        programs, flag, hints = row.split(" | ")
        pattern = rf"(?<![\w.-])(?:{programs})(?=\s)[^\n|;&]{{0,300}}?[ \t](?:{flag}){_GIVEN}"
        yield form("password of a program", pattern, hints=hints)


def _seed_phrases(text: str) -> Iterator[Span]:
    """Twelve to 24 words behind a name, or a line or a quotation of their own, and no sentence."""
    words = r"(?P<value>[a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23})"
    after_name = (
        r"(?i:seed|mnemonic|recovery|backup|secret|restore|import|wallet|bip-?39|ledger|metamask)"
        r"(?i:[ _-](?:phrase|words|key|code|wallet|from|with|it|using|seed|is|are)){0,4}"
        rf"\\?[\"']?\s{{0,3}}[:=]?\s{{0,3}}\\?[\"']?{words}(?![\w ])"
    )
    on_its_own = rf"(?m)(?:^|(?<=\\n)|(?<=[\"'`])){words}(?=$|\\n|[\"'`\r])"
    for pattern in (after_name, on_its_own):
        for match in compiled(pattern).finditer(text):
            phrase = match["value"]
            length_fits = pattern == after_name or len(phrase.split()) % 3 == 0
            if length_fits and not _COMMON.search(phrase):
                yield match.span("value")


def _encoded(text: str) -> Iterator[Span]:
    """Base64 of a text that holds a token or a key."""
    for match in compiled(r"(?<![A-Za-z0-9_+/-])[A-Za-z0-9_+/-]{20,}={0,2}").finditer(text):
        run = match[0].rstrip("=").translate({ord("-"): "+", ord("_"): "/"})
        try:
            plain = base64.b64decode(run[: len(run) // 4 * 4]).decode("ascii")
        except ValueError:
            continue
        if any(True for kind in _TOKEN_TABLE.possible(plain) for _ in kind.find(plain)):
            yield match.span()


_TOKEN_TABLE = FormTable(TOKENS)
NAMED: tuple[Form, ...] = (
    # As in a shell or its files, where no space stands around the sign: a quoted one may hold some.
    form(
        "quoted variable",
        rf"{_VARIABLE}=(?P<mark>[\"'])(?P<value>(?:(?!(?P=mark))[^\n]){{6,200}})(?P=mark)",
        hints=_WORD_HINTS,
    ),
    form(  # also behind a quotation mark that was cut off before its end
        "variable",
        rf"{_VARIABLE}[ \t]*[=:][ \t]*(?:\\?(?P<mark>[\"'`])",
        rf"(?!(?:(?!(?P=mark))[^\n]){{0,300}}(?P=mark)))?(?P<value>{_START}{_BODY}{{5,}}{_END})",
        hints=_WORD_HINTS,
    ),
    form(
        "named key",
        r"(?<![\w.-])[A-Z][A-Z0-9_]*_KEY[ \t]*[=:][ \t]*[\"']?(?P<value>(?=\S{0,99}[0-9])",
        r"(?=\S{0,99}[A-Za-z])[\w+/=.~-]{16,})(?![\w(\[])",
        hints="_key",
    ),
    form(  # a random value behind a name such as `signKey` or `auth`
        "named key",
        r"(?i:key|auth|sig|signature|salt|seed|cert)" + _IS,
        r"(?P<value>(?=[\w+/-]{0,99}\d)(?=[\w+/-]{0,99}[A-Z])(?=[\w+/-]{0,99}[a-z])",
        r"[A-Za-z0-9_+/-]{24,}={0,2})(?![\w(\[.])",
        hints="key auth sig salt seed cert",
    ),
    form(
        "quoted secret",
        rf"(?i){_WORDS}[\"'`]?\s*(?:=|:=|:|=>)\s*{_QUOTED}",
        hints=_WORD_HINTS,
    ),
    form(
        "password",
        rf"(?i){_WORDS}(?:\s*[:=][ \t]*(?:\r?\n[ \t]+)?|\s+is\s+|\s+)",
        rf"(?P<value>{_MIXED}{_START}{_BODY}{{7,}}{_END})",
        hints=_WORD_HINTS,
    ),
    form(
        "password",
        rf"(?i)(?<!\w)(?:{'|'.join(_FOREIGN)})[\"']?\s{{0,3}}(?:[:=\uff1a]|ist|lautet|es|est|è|is)",
        r"\s{0,3}[\"'«„“]?(?P<value>(?=[^\s\\]{0,99}[A-Za-z])",
        rf"(?=[^\s\\]{{0,99}}[0-9!#$%^&*?~]){_START}[^\s\"'`«»„“”\\]{{5,}})",
        hints=_FOREIGN,
    ),
    form(
        "password",
        rf"(?i)(?<![\w-])--?(?:{_FLAG}|token)(?:=|[ \t]+){_IN_QUOTES}",
        hints="-pass -pwd -secret -token -api",
    ),
    form(  # a word alone, where another flag follows
        "password",
        rf"(?i)(?<![\w-])--{_FLAG}(?:=(?P<value>(?![$<{{\[\"'])[^\s\"'`\\]{{4,}})",
        r"|[ \t]+(?P<bare>(?![-$<{\[\"'(])[^\s\"'`\\,.]{4,}(?=\s+--?\w)))",
        hints="-pass -pwd -secret -api",
    ),
    form(  # a list of settings between semicolons
        "password",
        r"(?i)(?<=[;\"'\s])(?:password|pwd)\s?=\s?(?P<value>[^;\"'\s$<{]{3,200})(?=;)",
        r"|(?<=;)(?:password|pwd)\s?=\s?(?P<bare>[^;\"'\s$<{]{3,200})",
        hints="password pwd",
    ),
    *_program_forms(),
    form(
        "password of a program",
        rf"(?<!\w)(?:echo|printf)[ \t]+(?:-\w[ \t]+)?{_GIVEN}[ \t]*\|[ \t]*",
        r"(?:sudo[ \t]+(?:-\w+[ \t]+){0,3}-S|[^\n|]{0,99}--password-stdin)",
        hints="sudo password-stdin",
    ),
    form(
        "password of a program",
        r"(?<!\w)(?:echo|printf)[ \t]+[\"']?[\w.-]{1,64}:(?P<value>[^\s\"']{3,200})[\"']?",
        r"[ \t]*\|[ \t]*(?:sudo[ \t]+)?chpasswd",
        hints="chpasswd",
    ),
    form(
        "password of a program",
        r"(?i)\b(?:identified\s+(?:with\s+\w+\s+)?by",
        r"|(?:role|user)\s+\S{1,99}\s+(?:with\s+)?(?:encrypted\s+)?password)",
        r"\s+'(?P<value>[^'\n]{3,200})'",
        hints="identified password",
    ),
    form(
        "login",
        r"(?<!\w)login[ \t]+\S{1,99}\s+password[ \t]+(?P<value>[^\s\"\\]{3,200})",
        hints="password",
    ),
    form(
        "login",
        r"(?<!\w)(?:-u|--user)[= ]{1,9}[\"']?[^\s:\"']{1,99}:(?!\d+(?:\s|$))",
        r"(?P<value>[^\s\"']{4,})",
        hints="-u --user",
    ),
    form(  # a line of .pgpass
        "login",
        r"(?m)(?:^|(?<=\\n)|(?<=[\"']))[\w.*-]{1,255}:(?:\d{2,5}|\*):[\w.*-]{1,63}:[\w.*-]{1,63}:",
        r"(?P<value>[^\s:\\\"']{3,200})(?=$|[\\\r\"'])",
        hints=":",
    ),
    form(
        "login",
        rf"(?i)(?<![a-z0-9])(?:_?auth|identitytoken){_IS}",
        r"(?P<value>(?=\S{0,99}(?:\d|=))[a-z0-9+/]{12,}={0,2})",
        hints="auth identitytoken",
    ),
    form(
        "cookie",
        rf"(?i)(?<![\w-])(?:set-)?cookie2?{_IS}",
        r"(?P<value>(?=[^\r\n\"'\\]{0,400}\d)[\w.$-]{1,99}=[^\s;,\"']{4,}[^\r\n\"'\\]{0,4000})",
        hints="cookie",
    ),
    form(
        "cookie",
        r"(?<!\w)curl[^\n]{0,300}?[ \t](?:-b|--cookie)[ =]{1,3}\\?[\"']?",
        r"(?P<value>[\w.$-]{1,99}=[^\"'\n\\]{4,4000})",
        hints="curl",
    ),
    form(  # a line of a browser's file
        "cookie",
        r"\t(?:TRUE|FALSE)\t/[^\t\n]{0,200}\t(?:TRUE|FALSE)\t\d+\t[^\t\n]{1,200}\t(?P<value>[^\s\"\\]{4,})",
        hints=("\ttrue\t", "\tfalse\t"),
    ),
    form(
        "cookie",
        r"(?i)(?<![a-z0-9])(?:session_?id|sessid|phpsessid|jsessionid|connect\.sid|session|sid",
        rf"|csrf_?token|xsrf-?token|remember_?me){_IS}",
        r"(?P<value>(?=[^\s;]{0,99}\d)(?=[^\s;]{0,99}[a-z])[\w%.+/:-]{16,}+)(?![(\[])",
        hints="session sessid csrf xsrf remember sid= sid: sid\" sid'",
    ),
    form(
        "password in XML",
        r"(?i)<[\w.:-]{0,40}(?:password|passwd|passphrase|secret|api-?key|pwd",
        r"|(?:auth|access|api|refresh|id)[_-]?token)(?:\s[^<>]{0,200})?>(?P<value>(?!\$\{)[^<>\s][^<>\n]{2,200})</",
        hints=_WORD_HINTS,
    ),
    form(
        "password in XML",
        r"(?i)(?:key|name)=\"[^\"\n]{0,60}(?:password|secret|token|pwd|api-?key)\"\s{1,9}",
        r"value=\"(?P<value>[^\"\n]{3,200})\"",
        hints="value=",
    ),
    form(
        "password in XML",
        r"(?i)<key>[^<\n]{0,60}(?:password|secret|token|api-?key)</key>\s{0,99}",
        r"<string>(?P<value>[^<\n]{3,200})</",
        hints="</key>",
    ),
    form(
        "webhook",
        r"(?i)(?<=://)[\w.:-]{3,99}/[\w./-]{0,99}?(?:web)?hooks?(?:/catch|/incoming)?/",
        r"(?P<value>(?=[\w/-]{0,99}\d)[\w/-]{16,})",
        hints="hook",
    ),
    form(
        "token in a URL",
        r"(?<=://)(?P<value>(?=[\w.~%-]{0,99}\d)(?=[\w.~%-]{0,99}[A-Za-z])[\w.~%-]{8,}+)(?=@)",
        hints="://",
    ),
    Form("seed phrase", _seed_phrases),
    form(  # a list of them
        "recovery codes",
        r"(?i)(?:recovery|backup|scratch|emergency|one-?time)[ _-]?codes?\b[^\n\\:=]{0,60}?",
        r"(?:[:=]|\\+n|\n)(?:\\+n|[\s\"'\[(])*(?P<value>(?:\d{1,2}[.)] )?(?=[a-z0-9 -]{6})",
        r"(?=[a-z-]{0,11}\d)[a-z0-9]{4,10}(?:[ -][a-z0-9]{4,10}){0,7}",
        r"(?:(?:\\+n|[\s,;\"'|-]){1,6}(?:\d{1,2}[.)] )?(?=[a-z-]{0,11}\d)[a-z0-9]{4,10}",
        r"(?:-[a-z0-9]{4,10}){0,7}){0,20})(?! ?[\w(=.])",
        hints="code",
    ),
    form(
        "quoted secret",
        r"(?i)variable\s+\\*\"[^\"\n]*(?:password|passwd|secret|token|api_?key|pwd)\\*\"\s*\{",
        r"[^{}]{0,300}?\bdefault\s*=\s*\\*\"(?P<value>[^\"\n\\]{3,200})",
        hints="variable",
    ),
    form(  # of a program's settings, with blanks
        "quoted secret",
        r"(?im)(?:^|\\+n)[ \t]*[\w.-]*(?:password|passwd|passphrase|pwd|secret)[ \t]?=[ \t]?",
        r"(?P<mark>[\"'])(?P<value>(?=[^\"'\n]{0,99}[\d#%^&*~$])",
        r"(?:(?!(?P=mark))[^\n\\{}]){6,60})(?P=mark)[ \t]*(?=$|\\+n)",
        hints=_WORD_HINTS,
    ),
    form(
        "email address",
        r"(?<![A-Za-z0-9._%+-])(?<!://)(?!(?:user|test|name|you|foo|bar)\w?@example\.)(?P<value>[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}",
        r"@(?!github\.com|users\.noreply)[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,})\b",
        hints="@",
    ),
    Form("encoded secret", _encoded),
)
