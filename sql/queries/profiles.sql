-- Profiles and preferences of users.

-- name: user_profile  -- $1 user
select name, position, department, language, timezone from maas.user_profiles where user_id = $1;

-- name: set_profile  -- $1 user, $2 name, $3 position, $4 department, $5 language
select maas.maas_set_profile($1, $2, $3, $4, $5);

-- name: set_timezone  -- $1 user, $2 IANA name, or null
select maas.maas_set_timezone($1, $2);

-- name: user_timezones  -- $1 users, in order; a row for each with a zone of its own
select u.place, p.timezone from unnest($1::uuid[]) with ordinality u(user_id, place)
join maas.user_profiles p on p.user_id = u.user_id where p.timezone is not null;

-- name: user_preferences  -- $1 user
select slot, value, answered_at from maas.user_preferences where user_id = $1 order by slot;

-- name: set_preferences  -- $1 user, $2 {slot: value}
select maas.maas_set_preferences($1, $2);

-- name: who_is_user  -- $1 user; one row, also for a user without a profile
select p.name, p.position, p.department, p.interviewed_at is not null as is_interviewed, coalesce((
    select jsonb_object_agg(u.slot, u.value order by u.slot) from maas.user_preferences u where u.user_id = $1), '{}') as preferences
from (select $1::uuid as user_id) u left join maas.user_profiles p on p.user_id = u.user_id;

-- name: begin_interview  -- $1 run, $2 position
select maas.maas_begin_interview($1, $2);

-- name: keep_interview  -- $1 run, $2 {slot: value}
select maas.maas_keep_interview($1, $2);
