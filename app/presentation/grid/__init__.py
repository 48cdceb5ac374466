"""An implementation over the values of its parameters: a cell a variant, without Qt."""
