"""A local web application to look at a clustering and to review its labels."""
