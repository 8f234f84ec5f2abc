"""Judging answers to questions over documents, shared by the search and longdoc families.

| metric | pass | value |
|---|---|---|
| `em` | normalised answer is an accepted one | 1 or 0 |
| `f1` | token F1 of at least `meta["threshold"]` (default 1) | token F1 |
| `rouge` | ROUGE-L of at least `meta["threshold"]` (default 1) | ROUGE-L |
| `choice` | the right letter, alone | 1 or 0 |
| `exam` | all right letters and no other | 1 or 0 |
| `boolean` | the right one of yes and no | 1 or 0 |
| `all` | every answer stands in the reply | share of them |
| `part` | any answer stands in the reply | 1 or 0 |
| `numbers` | every number of the reply is the answer | share of the reply's numbers |
| `classes` | the right class alone is named | 1 over the classes named |
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
