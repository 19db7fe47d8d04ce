-- deliveries_at_idx has all of it.
DROP INDEX deliveries_time_idx;
