-- Only the owner of a table may give it partitions, or drop them. Dispatchers whose user owns nothing could do neither: three days after the migrations there was
-- no partition left, and their events became dead letters. These functions act for the owner, whoever of the services calls them; nobody else may.
ALTER FUNCTION ensure_partitions(integer) SECURITY DEFINER SET search_path = webhooks, pg_temp;
ALTER FUNCTION drop_old_partitions(integer) SECURITY DEFINER SET search_path = webhooks, pg_temp;
ALTER FUNCTION drop_old_stats(integer) SECURITY DEFINER SET search_path = webhooks, pg_temp;

REVOKE EXECUTE ON FUNCTION ensure_partitions(integer), drop_old_partitions(integer), drop_old_stats(integer) FROM PUBLIC;
