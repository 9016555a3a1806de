"""What the syntax tree of a source says that it may do: run text, unpickle, reach the network.

Names are followed through imports: `from os import system as run; run(x)` is `os.system`.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

FORBIDDEN_MODULES = {
    "pickle", "cPickle", "_pickle", "pickletools", "marshal", "shelve", "dill", "cloudpickle",
    "joblib", "yaml", "code", "codeop", "pty",
}  # fmt: skip
NETWORK_MODULES = {
    "socket", "socketserver", "ssl", "http", "urllib", "urllib3", "ftplib", "smtplib", "poplib",
    "imaplib", "telnetlib", "nntplib", "xmlrpc", "wsgiref", "requests", "httpx", "aiohttp",
    "websockets", "grpc", "zmq", "paramiko", "webbrowser", "sentry_sdk", "posthog", "segment",
    "opentelemetry",
}  # fmt: skip
FORBIDDEN_CALLS = {
    "eval", "exec", "compile", "__import__", "builtins.eval", "builtins.exec", "os.system",
    "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput", "tempfile.mktemp",
    "torch.load", "numpy.lib.format.read_array", "asyncio.create_subprocess_shell",
    "asyncio.start_server", "jax.profiler.start_server",
}  # fmt: skip
FORBIDDEN_METHODS = {"read_pickle", "to_pickle"}  # of pandas, whatever holds them
CSV_WRITERS = {"csv.writer", "csv.DictWriter"}
GUARDED = "cli/sheets.py"  # writes tables, and `stress.programs` looks at them


def findings(path: Path, source: str) -> list[str]:
    """Return a sentence for each thing that a source must not do."""
    tree = ast.parse(source, str(path))
    names = _imported_names(tree)
    found = [*_bad_imports(tree)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found += [f"{what} in line {node.lineno}" for what in _bad_calls(node, names)]
        if isinstance(node, ast.Constant) and str(node.value).startswith(("http://", "ftp://")):
            found.append(f"the unprotected address {node.value!r} in line {node.lineno}")
    if path.as_posix().endswith(GUARDED):
        found = [what for what in found if not what.startswith("a CSV writer")]
    return [f"{path} has {what}" for what in found]


def _imported_names(tree: ast.AST) -> dict[str, str]:
    """Return what the names of a module stand for: np is numpy, run is os.system."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def _bad_imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for top in {module.split(".")[0] for module in modules}:
            if top in FORBIDDEN_MODULES | NETWORK_MODULES:
                yield f"an import of {top} in line {node.lineno}"


def _dotted(node: ast.expr, names: dict[str, str]) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value, names)}.{node.attr}"
    return names.get(node.id, node.id) if isinstance(node, ast.Name) else "?"


def _bad_calls(call: ast.Call, names: dict[str, str]) -> Iterator[str]:
    name = _dotted(call.func, names)
    keywords = {k.arg: k.value for k in call.keywords}
    if name in FORBIDDEN_CALLS or name.startswith(("os.exec", "os.spawn", "os.posix_spawn")):
        yield f"a call of {name}"
    if name in CSV_WRITERS or name.endswith(".to_csv"):
        yield "a CSV writer: guard cells that start like a formula"
    if name.split(".")[-1] in FORBIDDEN_METHODS:
        yield f"a call of {name}"
    if not _is_false(keywords.get("allow_pickle")):
        yield f"allow_pickle in a call of {name}"
    if not _is_false(keywords.get("shell")):
        yield f"a shell in a call of {name}"
    if name in ("numpy.load", "subprocess.run", "subprocess.Popen") and None in keywords:
        yield f"options of {name} that cannot be read off"
    if name == "importlib.import_module" and not _stays_at_home(call.args[0]):
        yield "an import of whatever a text names"


def _is_false(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is False)


def _stays_at_home(module: ast.expr) -> bool:
    """Return whether an imported module is fixed, or surely one of ours."""
    if isinstance(module, ast.Constant):
        return True
    if isinstance(module, ast.JoinedStr) and isinstance(module.values[0], ast.Constant):
        return str(module.values[0].value).startswith(("thomax.", "benchmarks."))
    return isinstance(module, ast.Name) and module.id in ("module", "package")  # rows of tables
