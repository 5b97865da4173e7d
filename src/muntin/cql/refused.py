"""Functions of Spark's that are not here, by the reason: what to write instead, for messages and the reference."""

from __future__ import annotations

from collections.abc import Mapping

_BEFORE = (
    "do it in the DataFrame that is registered, as in df.withColumn(...), or with columns = { x = \"...\" } of a job "
    "file's stream"
)
_OWN = "register a function of your own over Arrow arrays (muntin.function)"

_REASONS: Mapping[str, str] = {
    "rand randn random uniform randstr uuid shuffle": (
        "its answer would be another each time, and what is computed again after a restart must be the same: XXHASH64("
        "a, b) of the columns that tell rows apart is spread as evenly, MD5(CONCAT_WS('|', a, b)) is a name for them"
    ),
    "monotonically_increasing_id spark_partition_id input_file_name input_file_block_start input_file_block_length": (
        f"a query does not know where a row was read: {_BEFORE}"
    ),
    "current_catalog current_database current_schema current_path current_user session_user user version "
    "current_timezone": "a query knows nothing of the session: write the value, or a parameter (:name) for it",
    "localtime": "a query has no clock but event time: column ts of a result is its instant",
    "aggregate reduce filter exists forall transform transform_keys transform_values map_filter "
    "map_zip_with zip_with": (
        f"functions of functions (x -> ...) are not here: {_OWN}, or {_BEFORE}"
    ),
    "posexplode_outer inline_outer stack variant_explode variant_explode_outer": (
        f"a row stays one row here: {_BEFORE}"
    ),
    "range sql_keywords collations python_worker_logs": "rows come from streams and tables in FROM",
    "kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double "
    "kll_sketch_agg_float kll_sketch_get_n_bigint kll_sketch_get_n_double kll_sketch_get_n_float "
    "kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double kll_sketch_get_quantile_float "
    "kll_sketch_get_rank_bigint kll_sketch_get_rank_double kll_sketch_get_rank_float kll_sketch_merge_bigint "
    "kll_sketch_merge_double kll_sketch_merge_float kll_sketch_to_string_bigint kll_sketch_to_string_double "
    "kll_sketch_to_string_float histogram_numeric": (
        "sketches are kept inside of aggregates: write APPROX_QUANTILE(x, 0.9)"
    ),
    "hll_sketch_agg hll_sketch_estimate hll_union hll_union_agg theta_difference theta_intersection "
    "theta_intersection_agg theta_sketch_agg theta_sketch_estimate theta_union theta_union_agg "
    "tuple_difference_double tuple_difference_integer tuple_difference_theta_double tuple_difference_theta_integer "
    "tuple_intersection_agg_double tuple_intersection_agg_integer tuple_intersection_double tuple_intersection_integer "
    "tuple_intersection_theta_double tuple_intersection_theta_integer tuple_sketch_agg_double tuple_sketch_agg_integer "
    "tuple_sketch_estimate_double tuple_sketch_estimate_integer tuple_sketch_summary_double "
    "tuple_sketch_summary_integer tuple_sketch_theta_double tuple_sketch_theta_integer tuple_union_agg_double "
    "tuple_union_agg_integer tuple_union_double tuple_union_integer tuple_union_theta_double tuple_union_theta_integer "
    "bitmap_and_agg bitmap_bit_position bitmap_bucket_number bitmap_construct_agg bitmap_count bitmap_or_agg": (
        "sketches are kept inside of aggregates: write APPROX_COUNT_DISTINCT(x), or COUNT(DISTINCT x), which is exact"
    ),
    "approx_top_k_accumulate approx_top_k_combine approx_top_k_estimate count_min_sketch": (
        "sketches are kept inside of aggregates: write APPROX_TOP_K(x, k)"
    ),
    "collect_union counter_diff": "register one of your own with session.aggregate(name, ...)",
    "grouping grouping_id": "GROUPING SETS, ROLLUP and CUBE are not here: one query for each set of keys",
    "measure": "metric views are not here: write the aggregate",
    "any": "write BOOL_OR(x)",
    "bit_and bit_or bit_xor": "these are functions of two numbers here, as & | ^; for the aggregate register your own",
    "from_csv to_csv schema_of_csv from_avro to_avro schema_of_avro from_protobuf to_protobuf from_xml to_xml "
    "schema_of_xml xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short "
    "xpath_string": f"texts are decoded before: {_BEFORE}; of JSON there is FROM_JSON",
    "is_valid_variant is_variant_null schema_of_variant schema_of_variant_agg to_variant_object variant_array_append "
    "variant_delete variant_insert variant_set variant_strip_nulls try_variant_array_append try_variant_insert "
    "try_variant_set": "there is no type VARIANT here: GET_JSON_OBJECT and FROM_JSON take texts of JSON apart",
    "aes_decrypt aes_encrypt try_aes_decrypt hmac": f"a key does not belong into the text of a query: {_BEFORE}",
    "st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid": f"there are no types of geometry here: {_BEFORE}",
    "vector_avg vector_cosine_similarity vector_inner_product vector_l2_distance vector_norm vector_normalize "
    "vector_sum": f"there are no vectors here: {_OWN}",
    "time make_time to_time try_to_time time_diff time_from_micros time_from_millis time_from_seconds time_to_micros "
    "time_to_millis time_to_seconds time_trunc": (
        "there is no type TIME here: HOUR(t), MINUTE(t), SECOND(t), or DATE_FORMAT(t, 'HH:mm:ss')"
    ),
    "time_bucket": "windows are of their stream, FROM s [RANGE 5 MINUTES SLIDE 5 MINUTES]; DATE_TRUNC cuts times",
    "timestamp_nanos unix_nanos": "times are in microseconds: TIMESTAMP_MICROS(n DIV 1000), UNIX_MICROS(t) * 1000",
    "make_dt_interval make_interval make_ym_interval try_make_interval": (
        "write INTERVAL 3 DAYS, or DATEADD(HOUR, n, t)"
    ),
    "java_method reflect try_reflect": f"no Java is called here: {_OWN}",
    "assert_true raise_error": "a query has no errors of its own: filter such rows out with WHERE, and count them",
    "is_valid_utf8 make_valid_utf8 validate_utf8 try_validate_utf8": (
        "a STRING is always UTF-8 here; DECODE checks bytes"
    ),
    "collate collation": "texts compare by their bytes: write LOWER(s) on both sides",
    "to_binary try_to_binary": "write UNHEX(s), UNBASE64(s) or ENCODE(s, 'UTF-8')",
    "sentences quote jaro_winkler_similarity to_base32 from_base32": _OWN,
}

BY_NAME: Mapping[str, str] = {name: words for names, words in _REASONS.items() for name in names.split()}
"""By name what to say."""
