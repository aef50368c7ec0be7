-- Loading of stored data.

-- name: load_rows  -- $1 table, $2 rows as text, $3 user or null
select added, changed, unchanged from maas.maas_load($1, $2::text::jsonb, $3);
