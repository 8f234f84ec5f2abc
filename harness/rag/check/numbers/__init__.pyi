from .comparing import (
    agreement as agreement,
)
from .comparing import (
    equal as equal,
)
from .normalise import normalise as normalise
from .reading import (
    read as read,
)
from .reading import (
    read_one as read_one,
)
from .types import (
    Agreement as Agreement,
)
from .types import (
    Bound as Bound,
)
from .types import (
    Mention as Mention,
)
from .types import (
    Period as Period,
)
from .types import (
    Quantity as Quantity,
)
