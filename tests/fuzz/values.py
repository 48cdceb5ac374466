"""Hypothesis strategies for the values that come from outside, made from their types."""

from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import inspect

_TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=40), st.sampled_from(["=1", "<b>", "\x1b[0m", "\u202e"])
)
_FLOATS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, 5e-324, 1e300, -1.0, 1e-3]),
    st.floats(1e-7, 1e-2),
)
_INTEGERS = st.one_of(st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1), st.integers(1, 2**20))


def plain_values(kind: Any) -> st.SearchStrategy[Any]:
    """Plain values (dicts, lists, scalars) of this type's form, also with figures that no machine gives."""
    return _of(inspect.type_info(kind), 0)


def _of(info: inspect.Type, depth: int) -> st.SearchStrategy[Any]:  # noqa: C901, PLR0912 - one case a type
    match info:
        case inspect.StructType(fields=fields, tag=tag, tag_field=tag_field):
            parts = {
                field.encode_name: _of(field.type, depth + 1)
                for field in fields
                if field.required or depth < 4
            }
            fixed = {tag_field: st.just(tag)} if tag_field else {}
            return st.fixed_dictionaries({**parts, **fixed})
        case inspect.UnionType(types=types):
            return st.one_of(*(_of(each, depth) for each in types))
        case inspect.EnumType(cls=cls):
            return st.sampled_from([member.value for member in cls])
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
            return st.lists(_of(item, depth + 1), max_size=3 if depth > 2 else 8)
        case inspect.TupleType(item_types=items):
            return st.tuples(*(_of(each, depth + 1) for each in items)).map(list)
        case inspect.DictType(key_type=key, value_type=value):
            return st.dictionaries(_of(key, depth + 1), _of(value, depth + 1), max_size=3)
        case inspect.BoolType():
            return st.booleans()
        case inspect.IntType():
            return _INTEGERS
        case inspect.FloatType():
            return _FLOATS
        case inspect.NoneType():
            return st.none()
        case inspect.LiteralType(values=values):
            return st.sampled_from(values)
        case inspect.BytesType():
            return st.binary(max_size=20).map(msgspec.to_builtins)
        case _:
            return _TEXTS
