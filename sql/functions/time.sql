-- The clock, and the calendar of summaries: days in MAAS_TIMEZONE, buckets of levels 1 (day), 2 (week) and 3 (month).

create or replace function maas.maas_now() returns timestamptz language sql stable as $$
  select coalesce(nullif(current_setting('maas.now', true), '')::timestamptz, now())
$$;
comment on function maas.maas_now is 'The clock of leases and scopes; `set maas.now = ...` moves it for one session';

create or replace function maas.maas_day(p_at timestamptz) returns date language sql stable as $$
  select (p_at at time zone (select value from maas.engine_settings where key = 'timezone'))::date
$$;
comment on function maas.maas_day is 'The calendar day of a time in MAAS_TIMEZONE';

create or replace function maas.maas_monday(p_day date) returns date language sql immutable as $$
  select date_trunc('week', p_day::timestamp)::date
$$;
comment on function maas.maas_monday is 'The Monday of the week of a day';

create or replace function maas.maas_period(p_day date) returns text language sql immutable as $$
  select to_char(p_day, 'IYYY"-Week-"IW')
$$;
comment on function maas.maas_period(date) is 'The label of a day''s week: 2025-11-20 is in 2025-Week-47';

create or replace function maas.maas_period(p_day date, p_level int) returns text language sql immutable as $$
  select case when p_level < 3 then maas.maas_period(p_day)
    else to_char(maas.maas_monday(p_day) + 3, 'YYYY"-Month-"MM') end
$$;
comment on function maas.maas_period(date, int) is
  'The label of a summary that ends on a day: 2025-Week-47, or 2025-Month-11 for level 3';

create or replace function maas.maas_bucket(p_level int, p_day date) returns daterange language sql immutable as $$
  select case p_level
    when 1 then daterange(p_day, p_day + 1)
    when 2 then daterange(maas.maas_monday(p_day), maas.maas_monday(p_day) + 7)
    else daterange(maas.maas_monday(m.first + 3), maas.maas_monday((m.first + interval '1 month')::date + 3))
  end
  from (select date_trunc('month', (maas.maas_monday(p_day) + 3)::timestamp)::date as first) m
$$;
comment on function maas.maas_bucket is 'The days that share a summary of this level (1 to 3) with the given day';

create or replace function maas.maas_due_until(p_level int, p_today date) returns date language sql immutable as $$
  select lower(maas.maas_bucket(p_level, p_today - (array[2, 13, 59])[p_level])) - 1
$$;
comment on function maas.maas_due_until is
  'The last day of the newest bucket that is due for a summary of this level: 3, 14 or 60 days old';
