-- Profiles and preferences of users.

-- name: user_profile  -- $1 user
select name, position, department, language, timezone from maas.user_profiles where user_id = $1;

-- name: set_profile  -- $1 user, $2 name, $3 position, $4 department, $5 language
select maas.maas_set_profile($1, $2, $3, $4, $5);

-- name: set_timezone  -- $1 user, $2 IANA name, or null
select maas.maas_set_timezone($1, $2);

-- name: user_timezones  -- $1 users, in order; a row for each with a zone of its own
select u.place, p.timezone from unnest($1::uuid[]) with ordinality u(user_id, place)
join maas.user_settings p on p.user_id = u.user_id where p.timezone is not null;

-- name: user_preferences  -- $1 user
select slot, value, answered_at from maas.user_preferences where user_id = $1 order by slot;

-- name: set_preferences  -- $1 user, $2 {slot: value}
select maas.maas_set_preferences($1, $2);
