from .budget import (
    Budget as Budget,
)
from .budget import (
    Spend as Spend,
)
from .calls import (
    CallStore as CallStore,
)
from .calls import (
    SentCall as SentCall,
)
from .calls import (
    StoredCall as StoredCall,
)
from .client import (
    ChatModel as ChatModel,
)
from .client import (
    open_model as open_model,
)
from .prices import (
    Price as Price,
)
from .prices import (
    price_of as price_of,
)
from .recordings import (
    export_calls as export_calls,
)
from .recordings import (
    import_calls as import_calls,
)
from .specs import (
    DEFAULT_SPEC as DEFAULT_SPEC,
)
from .specs import (
    ModelSpec as ModelSpec,
)
from .specs import (
    parse_roles as parse_roles,
)
from .specs import (
    parse_spec as parse_spec,
)
from .types import (
    Message as Message,
)
from .types import (
    Model as Model,
)
from .types import (
    ModelCall as ModelCall,
)
from .types import (
    Reply as Reply,
)
from .types import (
    Role as Role,
)
from .types import (
    Sampling as Sampling,
)
