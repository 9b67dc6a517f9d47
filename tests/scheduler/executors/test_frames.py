"""The wire to workers: whatever the cuts, the same frames arrive; an agreed bound is held."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.scheduler.executors.frames import Decoder, Frame, FrameTooLargeError, encode

frames = st.tuples(st.integers(0, 255), st.integers(0, 2**64 - 1), st.binary(max_size=40), st.binary(max_size=300))


@given(sent=st.lists(frames, max_size=8), cuts=st.lists(st.integers(1, 60), min_size=1))
def test_frames_survive_any_cut(sent: list[Frame], cuts: list[int]) -> None:
    stream = b"".join(encode(*frame) for frame in sent)
    decoder = Decoder()
    received: list[Frame] = []
    at = turn = 0
    while at < len(stream):
        size = cuts[turn % len(cuts)]
        received += decoder.feed(stream[at : at + size])
        at, turn = at + size, turn + 1
    assert received == sent


@given(frame=frames, cut=st.integers(1, 500))
def test_the_decoder_says_what_it_lacks(frame: Frame, cut: int) -> None:
    """Reading exactly what is wanted, again and again, ends with the frame and not a byte later."""
    stream = encode(*frame)
    decoder, at = Decoder(), min(cut, len(stream) - 1)
    received = decoder.feed(stream[:at])
    while not received:
        wanted = decoder.wanted
        assert at + wanted <= len(stream)
        received = decoder.feed(stream[at : at + wanted])
        at += wanted
    assert (received, at) == ([frame], len(stream))


def test_a_frame_beyond_the_bound_is_refused_at_its_header() -> None:
    with pytest.raises(FrameTooLargeError, match="the limit is 100"):
        Decoder(max_frame_bytes=100).feed(encode(1, 1, b"", bytes(200))[:30])
