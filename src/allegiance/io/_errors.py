"""Errors that say what is wrong and, apart from that, what can be done about it."""

from __future__ import annotations

#: What can be done, by key, in the words of a Python caller. A program around the library, such as the command line,
#: has words of its own for each key and shows them after ``error.problem``.
REMEDIES = {
    "force": "Choose another name, or pass force=True.",
    "restart": "Pass resume=False to start again, or choose another output.",
    "not-numbers": (
        "Leave them out with drop, keep them as identifiers with apart, name the features with features, or encode "
        "categories with one_hot; categorical='one-hot' or 'drop' does so with all of them."
    ),
    "many-categories": "Leave it out with drop, or keep it as an identifier with apart.",
    "missing-values": (
        "Fill them in with impute='median', leave these rows out with impute='drop', or the columns with drop."
    ),
    "missing-for-model": "Fill them in first, or make the model anew with impute='median' or 'drop'.",
    "no-values": "Leave it out with drop.",
    "no-complete-row": "Fill missing values in with impute='median'.",
}


class RemediedError(Exception):
    """An error with a remedy.

    Parameters
    ----------
    problem
        What is wrong, in a sentence of its own.
    remedy
        A key of ``REMEDIES``; None if the problem says all there is to say.

    Attributes
    ----------
    problem, remedy
        As given. The text of the error is the problem followed by the remedy in the words of a Python caller.
    """

    def __init__(self, problem: str, remedy: str | None = None) -> None:
        super().__init__(problem if remedy is None else f"{problem} {REMEDIES[remedy]}")
        self.problem = problem
        self.remedy = remedy


class TableError(RemediedError, ValueError):
    """A table cannot be read or written; the message says why and what to do.

    Parameters
    ----------
    problem, remedy
        As in :class:`RemediedError`.

    Examples
    --------
    >>> from allegiance.io._old_tables import TableError, open_source
    >>> try:
    ...     open_source("no-such-file.csv")
    ... except TableError as error:
    ...     print(error)
    no-such-file.csv does not exist.
    """


class OutputExistsError(RemediedError, FileExistsError):
    """A file would be replaced that may not be.

    Parameters
    ----------
    problem, remedy
        As in :class:`RemediedError`.
    """
