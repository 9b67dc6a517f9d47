"""Semantic tokens in another legend's numbers."""

from headway.features.tokens import translated


def test_types_and_modifiers_get_the_other_legend_s_numbers() -> None:
    data = [0, 4, 3, 1, 0b11, 0, 5, 2, 0, 0]
    found = translated(data, ["class", "function"], ["static", "readonly"], ["function", "class"], ["readonly"])
    assert found == [0, 4, 3, 0, 0b1, 0, 5, 2, 1, 0]


def test_what_is_left_out_moves_what_follows_it() -> None:
    data = [2, 4, 3, 0, 0, 0, 6, 1, 1, 0, 0, 2, 1, 0, 0, 1, 3, 1, 1, 0, 1, 7, 1, 0, 0]
    # At line 2, columns 4, 10 (left out), 12; at line 3 one that is left out; at line 4, column 7.
    assert translated(data, ["class", "macro"], [], ["class"], []) == [2, 4, 3, 0, 0, 0, 8, 1, 0, 0, 2, 7, 1, 0, 0]


def test_what_is_no_whole_token_is_left_out() -> None:
    assert translated([0, 1, 2, 0], ["class"], [], ["class"], []) == []
