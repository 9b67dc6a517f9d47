"""Files that hold secrets, by their names: kept out of index, search, logs and prompts. Pure.

Two rules: names that belong to secrets whatever is behind them, and files of data whose names say what they hold. Code
is told by the first rule alone: `secrets.py` is a module, `secrets.yaml` is not.
"""

from __future__ import annotations

import re
from typing import Final

# protocol.md lists most of these; the others hold nothing else either.
_NAMES: Final = frozenset(
    {
        *(".env", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd", ".dockercfg"),
        *(".git-credentials", ".vault-token", ".vault_pass", "vault_pass.txt"),
    }
)
_BEGINNINGS: Final = (".env.", "id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", "credentials")
_ENDINGS: Final = (
    *(".pem", ".key", ".p12", ".pfx", ".kdbx", ".jks", ".keystore", ".ppk", ".env", ".htpasswd"),
    *(".tfvars", ".tfvars.json", ".tfstate"),
)
_DATA: Final = frozenset(
    {"json", "jsonc", "yaml", "yml", "toml", "ini", "cfg", "conf", "config", "properties", "xml", "txt", "csv"}
)
_TELLING: Final = re.compile(
    r"(?<![a-z])(?:secrets?|credentials?|passwords?|passwd|service[-_ ]?accounts?|firebase[-_]?adminsdk"
    r"|(?:api|access|private|secret|auth)[-_]?(?:keys?|tokens?)|client[-_]?secrets?)(?![a-z])"
)


def holds_secrets(name: str) -> bool:
    """Return whether a file of this name, without its folder and in lower case, is taken to hold secrets."""
    if name in _NAMES or name.startswith(_BEGINNINGS) or name.endswith(_ENDINGS):
        return True
    stem, _, suffix = name.rpartition(".")
    return suffix in _DATA and _TELLING.search(stem) is not None
