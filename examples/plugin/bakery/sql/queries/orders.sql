-- name: bakery_add_order  -- $1 run, $2 user, $3 item, $4 pieces
insert into maas.bakery_orders (run_id, user_id, item, pieces) values ($1, $2, $3, $4)
on conflict (run_id, item) do update set pieces = excluded.pieces;

-- name: bakery_pieces  -- $1 run, $2 item
select pieces from maas.bakery_orders where run_id = $1 and item = $2;

-- name: bakery_export  -- $1 user
select to_jsonb(o)::text as line from maas.bakery_orders o where o.user_id = $1 order by created_at, item;

-- name: bakery_orders
select created_at, pieces, item from maas.bakery_orders order by created_at desc, item;
