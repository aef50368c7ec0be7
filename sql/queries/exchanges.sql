-- Exchanges with pass-through models.

-- name: store_exchange
select maas.maas_store_exchange($1::uuid, $2::jsonb);

-- name: drop_replaced
select maas.maas_drop_replaced($1::uuid);
