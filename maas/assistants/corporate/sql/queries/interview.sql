-- Who a user is, and how they want to work.

-- name: who_is_user  -- $1 user; one row, also for a user without a profile, without what no model may see
select p.name, p.position, p.department, p.interviewed_at is not null as is_interviewed, coalesce((
    select jsonb_object_agg(u.slot, u.value order by u.slot) from maas.user_preferences u
    where u.user_id = $1 and u.is_used),
  '{}') as preferences
from (select $1::uuid as user_id) u left join maas.user_profiles p on p.user_id = u.user_id;

-- name: begin_interview  -- $1 run, $2 position
select maas.maas_begin_interview($1, $2);

-- name: keep_interview  -- $1 run, $2 {slot: value}
select maas.maas_keep_interview($1, $2);
