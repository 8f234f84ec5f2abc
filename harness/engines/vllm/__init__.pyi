from .command import (
    Launch as Launch,
)
from .command import (
    check_arguments as check_arguments,
)
from .command import (
    command_line as command_line,
)
from .figures import (
    Figures as Figures,
)
from .figures import (
    read_figures as read_figures,
)
from .fleet import (
    Fleet as Fleet,
)
from .fleet import (
    serve as serve,
)
from .profile import (
    ServingProfile as ServingProfile,
)
from .profile import (
    find_profile as find_profile,
)
from .profile import (
    shipped_profiles as shipped_profiles,
)
