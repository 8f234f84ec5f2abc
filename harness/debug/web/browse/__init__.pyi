from .answers import Browsing as Browsing
from .copy import write_copy as write_copy
from .library import Kept as Kept
from .library import Library as Library
from .library import Place as Place
