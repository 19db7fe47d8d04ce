-- deliveries_found knows by the minute where there are some.
DROP INDEX deliveries_throttled_idx;
