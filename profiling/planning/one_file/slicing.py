"""Which statements of a user's Python file are run to get some of its names.

A tutorial's file goes on after its functions: it tests them, prints and measures for minutes. Only what the
chosen function needs is run: definitions that it reaches, what changes the data that they read, and settings
that touch imported modules alone.
"""

import ast
from collections.abc import Iterable

# Methods that change what they are called on, besides those of torch whose names end in "_".
_CHANGE = frozenset(
    (
        *("append", "extend", "insert", "remove", "sort", "reverse", "appendleft", "popleft"),
        *("add", "discard", "update", "pop", "popitem", "setdefault", "clear"),
    )
)


def needed_statements(tree: ast.Module, names: Iterable[str]) -> list[ast.stmt]:
    """In the file's order."""
    imported = {name for node in tree.body if _is_import(node) for name in bound_names(node)}
    local = {name for node in tree.body for name in bound_names(node)} - imported
    functions = {name for node in tree.body if _is_definition(node) for name in bound_names(node)}
    aliases = _aliases(tree, local - functions)
    changes = {node: _changed(node, aliases) & (local - functions) for node in tree.body}
    needed, before = set(names), -1
    while len(needed) > before:
        before = len(needed)
        for node in tree.body:
            if _is_kept(node, needed, local, changes[node]):
                needed |= used_names([node]) - _counted(node)
    return [node for node in tree.body if _is_kept(node, needed, local, changes[node])]


def bound_names(node: ast.stmt) -> set[str]:
    """The names that a statement gives a value, those within its branches included."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return {alias.asname or alias.name.partition(".")[0] for alias in names}
        case ast.If() | ast.Try() | ast.With() | ast.For() | ast.While():
            inner = [one for one in ast.walk(node) if isinstance(one, ast.stmt) and one is not node]
            return set[str]().union(*map(bound_names, inner))
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return {
                one.id
                for target in targets
                for one in ast.walk(target)
                if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
            }
        case _:
            return set()


def used_names(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that these read of the file, without what a function or a comprehension names itself."""
    found: set[str] = set()
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                found.add(name)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                found |= _of_function(node)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                found |= used_names(ast.iter_child_nodes(node)) - _stored(node)
            case ast.AugAssign(target=ast.Name(id=name)):
                found |= {name} | used_names([node.value])
            case _:
                found |= used_names(ast.iter_child_nodes(node))
    return found


def _of_function(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    outside: list[ast.AST] = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    arguments = [one for one in ast.walk(node.args) if isinstance(one, ast.arg)]
    outside += [one.annotation for one in arguments if one.annotation]
    own = {one.arg for one in arguments}
    if not isinstance(node, ast.Lambda):
        outside += [*node.decorator_list, *filter(None, [node.returns])]
        own |= set[str]().union(*map(_stored, body))
    return used_names(outside) | (used_names(body) - own)


def _stored(node: ast.AST) -> set[str]:
    """The names that a statement or a comprehension binds, those of functions within it included."""
    waiting, found, shared = [node], set[str](), set[str]()
    while waiting:
        match one := waiting.pop():
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.Global(names=names):
                shared |= set(names)
            case ast.Import() | ast.ImportFrom():
                found |= bound_names(one)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.add(one.name)
                continue  # what it binds within is its own
            case _:
                pass
        waiting += ast.iter_child_nodes(one)
    return found - shared


def _is_kept(node: ast.stmt, needed: set[str], local: set[str], changed: set[str]) -> bool:
    if isinstance(node, ast.If) and "__name__" in used_names([node.test]):
        return False
    bound = bound_names(node)
    if (bound | changed) & needed or "*" in bound:
        return True
    if bound or changed:
        return False
    used = used_names([node]) & local
    return used <= needed and not any(_calls_local(one, local) for one in ast.walk(node))


def _changed(node: ast.stmt, aliases: dict[str, set[str]]) -> set[str]:
    """The names whose data a statement changes: ``W.mul_(3)``, ``OPTIONS["a"] = 1``, a loop over such."""
    found = {name for one in _run_at_once(node) for target in _targets(one) if (name := _base(target))}
    waiting = [*found]
    while waiting:
        for name in aliases.get(waiting.pop(), set[str]()) - found:
            found.add(name)
            waiting.append(name)
    return found


def _targets(node: ast.stmt) -> Iterable[ast.expr]:
    """What a statement changes, but does not bind."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=receiver))):
            yield receiver
        case ast.Assign(value=value) | ast.AnnAssign(value=value) | ast.AugAssign(value=value):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for one in ast.walk(target):
                    if isinstance(one, ast.Attribute | ast.Subscript) and isinstance(one.ctx, ast.Store):
                        yield one
            match value:
                case ast.Call(func=ast.Attribute(value=receiver, attr=method)) if (
                    method in _CHANGE or method.endswith("_")
                ):
                    yield receiver
                case _:
                    pass
        case ast.Delete(targets=targets):
            yield from (one for one in targets if not isinstance(one, ast.Name))
        case _:
            pass


def _base(node: ast.expr) -> str:
    """``W`` of ``W.data[0]`` and of ``W.view(-1)``."""
    while not isinstance(node, ast.Name):
        match node:
            case ast.Attribute(value=inner) | ast.Subscript(value=inner) | ast.Starred(value=inner):
                node = inner
            case ast.Call(func=ast.Attribute(value=inner)):
                node = inner
            case _:
                return ""
    return node.id


def _aliases(tree: ast.Module, data: set[str]) -> dict[str, set[str]]:
    """By name, the file's data of which it may be a part: ``c`` of ``for c in CONFIGS``."""
    found: dict[str, set[str]] = {}
    for node in (one for statement in tree.body for one in _run_at_once(statement)):
        match node:
            case ast.For(target=target, iter=whole):
                for name in _stored(target):
                    found.setdefault(name, set()).update(used_names([whole]) & data)
            case ast.Assign(value=ast.Name() | ast.Attribute() | ast.Subscript() as part):
                for name in bound_names(node):
                    found.setdefault(name, set()).update({_base(part)} & data)
            case _:
                pass
    return found


def _run_at_once(node: ast.stmt) -> Iterable[ast.stmt]:
    """A statement and those within it that run with it, not those of definitions."""
    waiting: list[ast.AST] = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.stmt):
            yield one
        if not _is_definition(one):
            waiting += [
                inner
                for inner in ast.iter_child_nodes(one)
                if isinstance(inner, ast.stmt | ast.ExceptHandler | ast.match_case)
            ]


def _counted(node: ast.stmt) -> set[str]:
    """The names of a loop, which no other statement has to bind."""
    return set[str]().union(*(_stored(one.target) for one in _run_at_once(node) if isinstance(one, ast.For)))


def _is_definition(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def _calls_local(node: ast.AST, local: set[str]) -> bool:
    return isinstance(node, ast.Call) and bool(used_names([node.func]) & local)


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)
