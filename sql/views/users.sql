-- Users.

create view maas.user_profiles as
select u.user_id, f.name, f.position, f.department, s.language, s.timezone, s.interviewed_at,
  greatest(s.updated_at, f.said_at) as updated_at
from (
  select user_id from maas.user_settings
  union
  select user_id from maas.facts where attribute in ('profile:name', 'profile:position', 'profile:department')) u
left join maas.user_settings s on s.user_id = u.user_id
cross join lateral (
  select max(v.value) filter (where v.slot = 'name') as name,
    max(v.value) filter (where v.slot = 'position') as position,
    max(v.value) filter (where v.slot = 'department') as department, max(v.said_at) as said_at
  from maas.maas_profile(u.user_id, 'profile') v) f;
comment on view maas.user_profiles is 'Who a user is, as they or an operator have said: facts of the kind profile';
comment on column maas.user_profiles.timezone is 'Written by maas_set_timezone; null: MAAS_TIMEZONE';

create view maas.user_preferences as
select u.user_id, v.slot, v.value, v.said_at as answered_at, v.is_used
from (select distinct user_id from maas.facts where kind = 'profile') u
cross join lateral maas.maas_profile(u.user_id, 'working') v;
comment on view maas.user_preferences is
  'How a user wants to work: what assistants have asked for, and what the user has changed since, as facts';
comment on column maas.user_preferences.slot is 'The name of the question''s slot, such as focus_time';
comment on column maas.user_preferences.is_used is 'False: the user wants it shown to no model';
