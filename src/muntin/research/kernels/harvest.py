"""GrubJoin tuple by tuple (Gedik et al.): bounded buffers before an m-way nested-loop join that reads parts of its
windows, its time charged by comparisons."""

from __future__ import annotations

import numba as nb
import numpy as np

POPS, PUSHES, DROPPED, OUTPUT, WORK, SHRED_WORK = range(6)
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
def join_tuple(times, values, window, spans, parts, order, chosen, s, now, v, match, shred, found, hist, lags):  # type: ignore[no-untyped-def]
    """Join one tuple of stream ``s``: (work, outputs).

    ``window[l]``: first and end place of window l; ``chosen[j, k]``: whether hop j reads part k. ``match``: (epsilon,
    1 where a hash index finds partners, so that work is a look into each part and one for each match). ``shred``: share
    of the first window that is read, evenly (0: harvesting). ``found[j]``: (compared, matched) of shredded tuples, and
    ``hist[l]``: of their results' differences T(t_l) - T(t_0) over +-``lags``.
    """
    m = len(spans)
    hops = m - 1
    counts = np.zeros(hops, np.int64)
    places = np.zeros((hops, parts.max(), 2), np.int64)
    for j in range(hops):
        w = order[j]
        counts[j] = ranges_of(times[w], window[w, 0], window[w, 1], now, spans[w], parts[w], chosen[j], places[j])
    picked, picked_at = np.zeros(m), np.zeros(m)
    picked[0], picked_at[0] = v, now
    part, at = np.zeros(hops, np.int64), np.zeros(hops, np.int64)
    work, outputs, depth = 0, 0, 0
    part[0], at[0] = 0, places[0, 0, 0] if counts[0] else 0
    work += counts[0] if match[1] else 0
    while depth >= 0:
        j = depth
        w = order[j]
        while part[j] < counts[j] and at[j] >= places[j, part[j], 1]:
            part[j] += 1
            if part[j] < counts[j]:
                at[j] = places[j, part[j], 0]
        if part[j] >= counts[j]:
            depth -= 1
            continue
        c = at[j]
        at[j] += 1
        if j == 0 and shred > 0 and int((c + 1) * shred) == int(c * shred):
            continue
        x = values[w, c]
        hit = True
        for d in range(j + 1):
            if abs(picked[d] - x) > match[0]:
                hit = False
                break
        if not match[1] or hit:
            work += 1
        if shred > 0:
            found[j, 0] += 1
            found[j, 1] += hit
        if not hit:
            continue
        picked[j + 1], picked_at[j + 1] = x, times[w, c]
        if j + 1 < hops:
            depth = j + 1
            part[depth] = 0
            at[depth] = places[depth, 0, 0] if counts[depth] else 0
            work += counts[depth] if match[1] else 0
            continue
        outputs += 1
        if shred > 0:
            base = now
            for d in range(hops):
                if order[d] == 0:
                    base = picked_at[d + 1]
            for d in range(m):
                stream = s if d == 0 else order[d - 1]
                if stream:
                    place = int((picked_at[d] - base + lags) / (2 * lags) * hist.shape[1])
                    if 0 <= place < hist.shape[1]:
                        hist[stream, place] += 1
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
            if part_of > 0:
                counters[SHRED_WORK, best] += work
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
