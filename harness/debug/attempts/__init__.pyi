from .finding import (
    Found as Found,
)
from .finding import (
    find_item as find_item,
)
from .opening import (
    Item as Item,
)
from .opening import (
    Settings as Settings,
)
from .opening import (
    open_item as open_item,
)
