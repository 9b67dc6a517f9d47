"""What the numbers in ty's semantic tokens mean. Imports nothing: the client is told before anything is loaded."""

TOKEN_TYPES = (
    "namespace",
    "class",
    "parameter",
    "selfParameter",
    "clsParameter",
    "variable",
    "property",
    "function",
    "method",
    "keyword",
    "string",
    "number",
    "decorator",
    "builtinConstant",
    "typeParameter",
    "operator",
    "regexp",
)
TOKEN_MODIFIERS = ("definition", "readonly", "async", "documentation")
