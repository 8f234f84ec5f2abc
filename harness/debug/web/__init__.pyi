from .app import open_page as open_page
from .app import open_view as open_view
from .app import serve_until_signal as serve_until_signal
from .browse import Kept as Kept
from .browse import Library as Library
from .browse import write_copy as write_copy
