-- Recall asks of each turn one thing: which terms of the question it holds. What SQL needs for that stands here; the
-- arithmetic is maas/memory/ranking.py, the reads are sql/queries/search.sql.

-- Positions are never asked for, and a text without them takes half the room.
create or replace function maas_lexemes(p_text text) returns tsvector language sql immutable parallel safe as $$
  select strip(to_tsvector('russian', translate(left(p_text, 200000), 'ёЁ’', 'еЕ''')))
$$;

create function maas_asks(p_text text) returns smallint language sql immutable parallel safe as $$
  select ((position('?' in p_text) > 0)::int + (right(rtrim(left(p_text, 200000), E' \n\r\t'), 1) = '?')::int)::smallint
$$;
comment on function maas_asks is '2 for a text that ends with a question mark, 1 for one that holds any, else 0';
alter table raw_logs add flags smallint generated always as (maas_asks(content)) stored;
comment on column raw_logs.flags is '2: it ends with a question mark; 1: it holds one; 0: it asks nothing';

create function maas_terms(p_lexemes text[]) returns tsquery[] language sql immutable parallel safe as $$
  select array(select ('''' || replace(replace(t, '\', '\\'), '''', '''''') || '''')::tsquery
    from unnest(p_lexemes) with ordinality as u(t, n) order by n)
$$;
comment on function maas_terms is 'Each lexeme as a query of its own';

create function maas_any_term(p_lexemes text[]) returns tsquery language sql immutable parallel safe as $$
  select string_agg(t::text, ' | ')::tsquery from unnest(maas_terms(p_lexemes)) t
$$;
comment on function maas_any_term is 'One query that asks for any of the lexemes; null when there is none';

create function maas_hints(p_words text, p_beginnings text[]) returns tsquery language sql immutable parallel safe as $$
  select string_agg(t, ' | ')::tsquery from (
    select t::text from unnest(maas_terms(tsvector_to_array(maas_lexemes(p_words)))) t
    union all
    select format('%L:*', b) from unnest(p_beginnings) b) h(t)
$$;
comment on function maas_hints is 'One query that asks for any of the words, or for a lexeme that begins so';

create function maas_mask_weight(p_mask bigint, p_weights float8[]) returns float8 language sql immutable parallel safe as $$
  select (p_mask & 1) * coalesce(p_weights[1], 0) + (p_mask >> 1 & 1) * coalesce(p_weights[2], 0)
    + (p_mask >> 2 & 1) * coalesce(p_weights[3], 0) + (p_mask >> 3 & 1) * coalesce(p_weights[4], 0)
    + (p_mask >> 4 & 1) * coalesce(p_weights[5], 0) + (p_mask >> 5 & 1) * coalesce(p_weights[6], 0)
    + (p_mask >> 6 & 1) * coalesce(p_weights[7], 0) + (p_mask >> 7 & 1) * coalesce(p_weights[8], 0)
    + (p_mask >> 8 & 1) * coalesce(p_weights[9], 0) + (p_mask >> 9 & 1) * coalesce(p_weights[10], 0)
    + (p_mask >> 10 & 1) * coalesce(p_weights[11], 0) + (p_mask >> 11 & 1) * coalesce(p_weights[12], 0)
    + (p_mask >> 12 & 1) * coalesce(p_weights[13], 0) + (p_mask >> 13 & 1) * coalesce(p_weights[14], 0)
    + (p_mask >> 14 & 1) * coalesce(p_weights[15], 0) + (p_mask >> 15 & 1) * coalesce(p_weights[16], 0)
$$;
comment on function maas_mask_weight is 'What the terms of a mask weigh together. Written out so that it is inlined';

create function maas_hidden_runs(p_user uuid, p_seq bigint) returns uuid[] language sql stable as $$
  select array(
    select id from pipeline_runs where user_id = p_user and kind = 'ask' and seq >= p_seq
    union all
    select id from pipeline_runs where lane = -2 and user_id = p_user and kind = 'ask')
$$;
comment on function maas_hidden_runs is 'Requests of that turn and later ones, and those that still wait: they are in no answer';

create table counted_users (
  user_id uuid primary key,
  turns int not null,
  counted_at timestamptz not null default now()
);
comment on table counted_users is 'Users with so many turns that a search may not read them all; how many there were when their words were counted';

create table term_df (
  user_id uuid not null references counted_users on delete cascade,
  term text collate "C" not null,
  turns int not null,
  primary key (user_id, term)
);
comment on table term_df is 'In how many turns of a counted user a lexeme stands. It only orders and weighs: what is not in it yet counts as rare';

create function maas_count_terms(p_user uuid, p_whole int default 2000) returns int language plpgsql as $$
declare
  total int := (select count(*) from raw_logs where user_id = p_user);
begin
  if not pg_try_advisory_xact_lock(4715, hashtext(p_user::text)) then
    return total;  -- somebody else is counting them
  end if;
  delete from counted_users where user_id = p_user;
  if total > p_whole then
    insert into counted_users values (p_user, total);
    insert into term_df select p_user, t.lexeme, count(*)
    from raw_logs l cross join lateral unnest(l.tsv) t where l.user_id = p_user group by t.lexeme;
  end if;
  return total;
end $$;
comment on function maas_count_terms is 'Counts the words of a user anew; forgets them when a search can read all turns. Returns the number of turns';

create function maas_users_to_count(p_overlap interval, p_whole int default 2000) returns setof uuid language sql stable as $$
  select u.user_id
  from (
    select distinct user_id from raw_logs where created_at >= (
      select value::timestamptz - p_overlap from engine_settings where key = 'terms_counted_until')) u
  left join counted_users c on c.user_id = u.user_id
  cross join lateral (
    select count(*) as turns from (
      select from raw_logs where user_id = u.user_id limit coalesce(c.turns * 11 / 10, p_whole) + 1) l) l
  where l.turns > coalesce(c.turns * 11 / 10, p_whole)
$$;
comment on function maas_users_to_count is 'Who wrote since the last time, and has outgrown by a tenth, or for the first time, what was counted';

insert into engine_settings values ('terms_counted_until', '-infinity') on conflict do nothing;
