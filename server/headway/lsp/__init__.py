"""The only room that knows the Language Server Protocol.

It speaks JSON-RPC and reads params itself. Building it on pygls was measured and left: importing pygls and lsprotocol
takes 0.65 s of CPU and 20 MB before the first answer (this room and asyncio: 0.13 s), its reader shares an executor
with handlers, and of its dispatch, cancelling, writing and shutdown nothing would have stayed. lsprotocol is the judge
in the tests instead: `tests/lsp/wire.py` holds whatever the server sends against its types.
"""
