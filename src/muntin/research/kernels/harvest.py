"""GrubJoin tuple by tuple (Gedik et al.): bounded buffers before an m-way nested-loop join that reads parts of its
windows, its time charged by comparisons."""

from __future__ import annotations

import numba as nb
import numpy as np

POPS, PUSHES, DROPPED, OUTPUT, WORK = range(5)
"""Rows of the counters, each by stream."""


@nb.njit(cache=True)
def _find(times, first, end, at):  # type: ignore[no-untyped-def]
    """The first place of [first, end) whose time is at least ``at``."""
    while first < end:
        middle = (first + end) // 2
        if times[middle] < at:
            first = middle + 1
        else:
            end = middle
    return first


@nb.njit(cache=True)
def ranges_of(times, first, end, now, span, parts, chosen, out):  # type: ignore[no-untyped-def]
    """Places of the chosen logical basic windows at ``now``: part k has ages in [k, k + 1) span / parts; how many."""
    n = 0
    for k in range(parts):
        if not chosen[k]:
            continue
        b = span / parts
        out[n, 0] = _find(times, first, end, now - (k + 1) * b + 1e-12)
        out[n, 1] = _find(times, first, end, now - k * b + 1e-12) if k else end
        n += 1
    return n


@nb.njit(cache=True)
def _begin(places, counts, part, at, hop, hashed):  # type: ignore[no-untyped-def]
    """Set a hop to its first place; the work of looking into its parts, one for each where a hash index finds them."""
    part[hop], at[hop] = 0, places[hop, 0, 0] if counts[hop] else 0
    return counts[hop] if hashed else 0


@nb.njit(cache=True)
def _next(places, counts, part, at, hop):  # type: ignore[no-untyped-def]
    """The next place that a hop reads; -1 where it has read them all."""
    while part[hop] < counts[hop] and at[hop] >= places[hop, part[hop], 1]:
        part[hop] += 1
        if part[hop] < counts[hop]:
            at[hop] = places[hop, part[hop], 0]
    if part[hop] >= counts[hop]:
        return -1
    at[hop] += 1
    return at[hop] - 1


@nb.njit(cache=True)
def _matches(picked, n, x, epsilon):  # type: ignore[no-untyped-def]
    """Whether a value lies within ``epsilon`` of the first ``n`` that are picked."""
    apart = 0.0
    for d in range(n):
        apart = max(apart, abs(picked[d] - x))
    return apart <= epsilon


@nb.njit(cache=True)
def _note_lags(hist, picked_at, order, s, lags):  # type: ignore[no-untyped-def]
    """Add a result of a tuple of stream ``s`` to the histograms of T(t_l) - T(t_0)."""
    base = picked_at[0]
    for d in range(len(order)):
        if order[d] == 0:
            base = picked_at[d + 1]
    for d in range(len(order) + 1):
        stream = s if d == 0 else order[d - 1]
        if stream:
            place = int((picked_at[d] - base + lags) / (2 * lags) * hist.shape[1])
            if 0 <= place < hist.shape[1]:
                hist[stream, place] += 1


@nb.njit(cache=True)
def join_tuple(times, values, window, spans, parts, order, chosen, s, now, v, match, shred, found, hist, lags):  # type: ignore[no-untyped-def]
    """Join one tuple of stream ``s``: (work, outputs).

    ``window[l]``: first and end place of window l; ``chosen[j, k]``: whether hop j reads part k. ``match``: (epsilon,
    1 where a hash index finds partners, so that work is a look into each part and one for each match). ``shred``: share
    of the first window that is read, evenly (0: harvesting). ``found[j]``: (compared, matched) of shredded tuples, and
    ``hist[l]``: of their results' differences T(t_l) - T(t_0) over +-``lags``.
    """
    hops = len(spans) - 1
    counts = np.zeros(hops, np.int64)
    places = np.zeros((hops, parts.max(), 2), np.int64)
    for j in range(hops):
        w = order[j]
        counts[j] = ranges_of(times[w], window[w, 0], window[w, 1], now, spans[w], parts[w], chosen[j], places[j])
    picked, picked_at = np.zeros(hops + 1), np.zeros(hops + 1)
    picked[0], picked_at[0] = v, now
    part, at = np.zeros(hops, np.int64), np.zeros(hops, np.int64)
    outputs, j = 0, 0
    work = _begin(places, counts, part, at, 0, match[1])
    while j >= 0:
        c = _next(places, counts, part, at, j)
        if c < 0:
            j -= 1
            continue
        if j == 0 and shred > 0 and int((c + 1) * shred) == int(c * shred):
            continue
        hit = _matches(picked, j + 1, values[order[j], c], match[0])
        work += 1 if hit or not match[1] else 0
        if shred > 0:
            found[j, 0] += 1
            found[j, 1] += hit
        if not hit:
            continue
        picked[j + 1], picked_at[j + 1] = values[order[j], c], times[order[j], c]
        if j + 1 < hops:
            j += 1
            work += _begin(places, counts, part, at, j, match[1])
            continue
        outputs += 1
        if shred > 0:
            _note_lags(hist, picked_at, order, s, lags)
    return work, outputs


@nb.njit(cache=True)
def run_until(  # type: ignore[no-untyped-def]
    until, clock, arrivals, streams, vals, luck, kept, buffers, sizes, capacity, times, values, window, spans, parts,
    orders, chosen, budget, base, match, shred, omega, counters, found, hist, lags,
):  # fmt: skip
    """Go on to ``until`` (seconds). ``clock``: (time of the processor, number of the next arrival). ``luck``: two
    uniform numbers an arrival, for its drop box (``kept`` by stream) and for shredding (share ``omega``).

    ``buffers[s]``: arrivals that wait, ``sizes[s]`` of them, at most ``capacity``. ``base``: work of taking a tuple in.
    """
    m = len(spans)
    while True:
        best = -1
        for s in range(m):
            if sizes[s] and (best < 0 or buffers[s, 0] < buffers[best, 0]):
                best = s
        if best < 0:
            n = int(clock[1])
            if n >= len(arrivals) or arrivals[n] >= until:
                clock[0] = max(clock[0], until)
                return
            clock[0] = max(clock[0], arrivals[n])
        elif clock[0] >= until:
            return
        else:
            a = buffers[best, 0]
            for q in range(sizes[best] - 1):
                buffers[best, q] = buffers[best, q + 1]
            sizes[best] -= 1
            counters[POPS, best] += 1
            now = arrivals[a]
            for w in range(m):
                while window[w, 0] < window[w, 1] and times[w, window[w, 0]] <= now - spans[w]:
                    window[w, 0] += 1
            part_of = shred if luck[a, 1] < omega else 0.0
            reads = chosen[m + best] if part_of > 0 else chosen[best]
            work, outputs = join_tuple(
                times, values, window, spans, parts, orders[best], reads, best, now, vals[a], match, part_of,
                found[best], hist, lags,
            )  # fmt: skip
            end = window[best, 1]
            times[best, end], values[best, end] = now, vals[a]
            window[best, 1] += 1
            counters[OUTPUT, best] += outputs
            counters[WORK, best] += work
            clock[0] += (work + base) / budget
        n = int(clock[1])
        while n < len(arrivals) and arrivals[n] <= clock[0]:
            s = streams[n]
            if luck[n, 0] < kept[s]:
                counters[PUSHES, s] += 1
                if sizes[s] < capacity:
                    buffers[s, sizes[s]] = n
                    sizes[s] += 1
                else:
                    counters[DROPPED, s] += 1
            n += 1
        clock[1] = n
