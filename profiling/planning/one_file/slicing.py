"""Which statements of a user's Python file are run to get some of its names.

A tutorial's file goes on after its functions: it tests them, prints and measures for minutes. Only what the
chosen function needs is run: definitions that it reaches, and settings that touch imported modules alone.
"""

import ast
from collections.abc import Iterable


def needed_statements(tree: ast.Module, names: Iterable[str]) -> list[ast.stmt]:
    """In the file's order."""
    imported = {name for node in tree.body if _is_import(node) for name in bound_names(node)}
    local = {name for node in tree.body for name in bound_names(node)} - imported
    needed, before = set(names), -1
    while len(needed) > before:
        before = len(needed)
        for node in tree.body:
            if _is_kept(node, needed, local):
                needed |= used_names([node])
    return [node for node in tree.body if _is_kept(node, needed, local)]


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


def _is_kept(node: ast.stmt, needed: set[str], local: set[str]) -> bool:
    if isinstance(node, ast.If) and "__name__" in used_names([node.test]):
        return False
    if bound := bound_names(node):
        return bool(bound & needed) or "*" in bound
    used = used_names([node]) & local
    return used <= needed and not any(_calls_local(one, local) for one in ast.walk(node))


def _calls_local(node: ast.AST, local: set[str]) -> bool:
    return isinstance(node, ast.Call) and bool(used_names([node.func]) & local)


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)
