from .browse import Kept as Kept
from .browse import Library as Library
from .browse import write_copy as write_copy
from .pages import open_page as open_page
from .pages import open_view as open_view
from .pages import serve_page as serve_page
from .pages import serve_view as serve_view
