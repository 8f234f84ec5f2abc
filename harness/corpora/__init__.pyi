from .cached import corpus_tasks as corpus_tasks
from .catalogue import (
    SPLITS as SPLITS,
)
from .catalogue import (
    Corpus as Corpus,
)
from .catalogue import (
    Generated as Generated,
)
from .catalogue import (
    find_corpus as find_corpus,
)
from .catalogue import (
    generate as generate,
)
from .catalogue import (
    list_corpora as list_corpora,
)
from .catalogue import (
    read_manifest as read_manifest,
)
from .catalogue import (
    show as show,
)
from .download import (
    Pulled as Pulled,
)
from .download import (
    pull as pull,
)
