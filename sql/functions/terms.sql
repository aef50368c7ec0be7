-- Lexemes of questions, and how many messages of a user with a large memory contain each.

create or replace function maas.maas_terms(p_lexemes text[])
returns tsquery[] language sql immutable parallel safe as $$
  select array(select ('''' || replace(replace(t, '\', '\\'), '''', '''''') || '''')::tsquery
    from unnest(p_lexemes) with ordinality as u(t, n) order by n)
$$;
comment on function maas.maas_terms is 'Each lexeme as a query of its own';

create or replace function maas.maas_any_term(p_lexemes text[])
returns tsquery language sql immutable parallel safe as $$
  select string_agg(t::text, ' | ')::tsquery from unnest(maas.maas_terms(p_lexemes)) t
$$;
comment on function maas.maas_any_term is 'One query that matches any of the lexemes; null if there is none';

create or replace function maas.maas_search_terms(p_text text)
returns tsquery[] language sql immutable parallel safe as $$
  with words as (
    select w.lexeme as word, tsvector_to_array(maas.maas_lexemes(w.lexeme)) as stems
    from unnest(to_tsvector('simple', replace(translate(left(p_text, 1000), 'ёЁ’', 'еЕ'''), '<!--', '<--'))) w
  )
  select array(
    select (select string_agg('''' || replace(replace(b.beginning, '\', '\\'), '''', '''''') || ''':*', ' | ')
      from (select w.word as beginning union select unnest(w.stems)) b)::tsquery
    from words w where w.stems <> '{}' or not exists (select from words where stems <> '{}')
    order by length(w.word) desc, w.word limit 16)
$$;
comment on function maas.maas_search_terms is
  'For each word of a text, at most 16, the longest first: what begins with the word or with its stem, in any case. '
  'Stop words count only where a text has no others';

create or replace function maas.maas_term_mask(p_text tsvector, p_terms tsquery[])
returns bigint language sql immutable parallel safe as $$
  select coalesce((p_text @@ p_terms[1])::int::bigint, 0) | coalesce((p_text @@ p_terms[2])::int::bigint << 1, 0)
    | coalesce((p_text @@ p_terms[3])::int::bigint << 2, 0) | coalesce((p_text @@ p_terms[4])::int::bigint << 3, 0)
    | coalesce((p_text @@ p_terms[5])::int::bigint << 4, 0) | coalesce((p_text @@ p_terms[6])::int::bigint << 5, 0)
    | coalesce((p_text @@ p_terms[7])::int::bigint << 6, 0) | coalesce((p_text @@ p_terms[8])::int::bigint << 7, 0)
    | coalesce((p_text @@ p_terms[9])::int::bigint << 8, 0) | coalesce((p_text @@ p_terms[10])::int::bigint << 9, 0)
    | coalesce((p_text @@ p_terms[11])::int::bigint << 10, 0) | coalesce((p_text @@ p_terms[12])::int::bigint << 11, 0)
    | coalesce((p_text @@ p_terms[13])::int::bigint << 12, 0) | coalesce((p_text @@ p_terms[14])::int::bigint << 13, 0)
    | coalesce((p_text @@ p_terms[15])::int::bigint << 14, 0) | coalesce((p_text @@ p_terms[16])::int::bigint << 15, 0)
    | coalesce((p_text @@ p_terms[17])::int::bigint << 16, 0) | coalesce((p_text @@ p_terms[18])::int::bigint << 17, 0)
    | coalesce((p_text @@ p_terms[19])::int::bigint << 18, 0) | coalesce((p_text @@ p_terms[20])::int::bigint << 19, 0)
    | coalesce((p_text @@ p_terms[21])::int::bigint << 20, 0) | coalesce((p_text @@ p_terms[22])::int::bigint << 21, 0)
    | coalesce((p_text @@ p_terms[23])::int::bigint << 22, 0) | coalesce((p_text @@ p_terms[24])::int::bigint << 23, 0)
    | coalesce((p_text @@ p_terms[25])::int::bigint << 24, 0) | coalesce((p_text @@ p_terms[26])::int::bigint << 25, 0)
    | coalesce((p_text @@ p_terms[27])::int::bigint << 26, 0) | coalesce((p_text @@ p_terms[28])::int::bigint << 27, 0)
    | coalesce((p_text @@ p_terms[29])::int::bigint << 28, 0) | coalesce((p_text @@ p_terms[30])::int::bigint << 29, 0)
    | coalesce((p_text @@ p_terms[31])::int::bigint << 30, 0) | coalesce((p_text @@ p_terms[32])::int::bigint << 31, 0)
$$;
comment on function maas.maas_term_mask is
  'Bit i is set if the text contains term i; at most 32 terms. Written out so that it is inlined';

create or replace function maas.maas_mask_weight(p_mask bigint, p_weights float8[])
returns float8 language sql immutable parallel safe as $$
  select (p_mask & 1) * coalesce(p_weights[1], 0) + (p_mask >> 1 & 1) * coalesce(p_weights[2], 0)
    + (p_mask >> 2 & 1) * coalesce(p_weights[3], 0) + (p_mask >> 3 & 1) * coalesce(p_weights[4], 0)
    + (p_mask >> 4 & 1) * coalesce(p_weights[5], 0) + (p_mask >> 5 & 1) * coalesce(p_weights[6], 0)
    + (p_mask >> 6 & 1) * coalesce(p_weights[7], 0) + (p_mask >> 7 & 1) * coalesce(p_weights[8], 0)
    + (p_mask >> 8 & 1) * coalesce(p_weights[9], 0) + (p_mask >> 9 & 1) * coalesce(p_weights[10], 0)
    + (p_mask >> 10 & 1) * coalesce(p_weights[11], 0) + (p_mask >> 11 & 1) * coalesce(p_weights[12], 0)
    + (p_mask >> 12 & 1) * coalesce(p_weights[13], 0) + (p_mask >> 13 & 1) * coalesce(p_weights[14], 0)
    + (p_mask >> 14 & 1) * coalesce(p_weights[15], 0) + (p_mask >> 15 & 1) * coalesce(p_weights[16], 0)
    + (p_mask >> 16 & 1) * coalesce(p_weights[17], 0) + (p_mask >> 17 & 1) * coalesce(p_weights[18], 0)
    + (p_mask >> 18 & 1) * coalesce(p_weights[19], 0) + (p_mask >> 19 & 1) * coalesce(p_weights[20], 0)
    + (p_mask >> 20 & 1) * coalesce(p_weights[21], 0) + (p_mask >> 21 & 1) * coalesce(p_weights[22], 0)
    + (p_mask >> 22 & 1) * coalesce(p_weights[23], 0) + (p_mask >> 23 & 1) * coalesce(p_weights[24], 0)
    + (p_mask >> 24 & 1) * coalesce(p_weights[25], 0) + (p_mask >> 25 & 1) * coalesce(p_weights[26], 0)
    + (p_mask >> 26 & 1) * coalesce(p_weights[27], 0) + (p_mask >> 27 & 1) * coalesce(p_weights[28], 0)
    + (p_mask >> 28 & 1) * coalesce(p_weights[29], 0) + (p_mask >> 29 & 1) * coalesce(p_weights[30], 0)
    + (p_mask >> 30 & 1) * coalesce(p_weights[31], 0) + (p_mask >> 31 & 1) * coalesce(p_weights[32], 0)
$$;
comment on function maas.maas_mask_weight is
  'The sum of the weights of the terms in a mask. Written out so that it is inlined';

create or replace function maas.maas_speakers(p_user uuid) returns text[] language sql stable as $$
  select array(
    select speaker from maas.raw_logs where user_id = p_user and is_remembered and speaker is not null group by speaker
    order by count(*) desc, speaker limit 100)
$$;
comment on function maas.maas_speakers is 'The most frequent speakers in a user''s memory, at most a hundred';

create or replace function maas.maas_count_terms(p_user uuid, p_whole int default 2000)
returns int language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  total int := (select count(*) from maas.raw_logs where user_id = p_user and is_remembered);
begin
  if not maas.maas_try_lock('terms', p_user::text) then
    return total;  -- another process is counting them
  end if;
  delete from maas.counted_users where user_id = p_user;
  if total > p_whole then
    insert into maas.counted_users (user_id, turns, speakers) values (p_user, total, maas.maas_speakers(p_user));
    insert into maas.term_df select p_user, t.lexeme, count(*)
    from maas.raw_logs l cross join lateral unnest(l.tsv) t where l.user_id = p_user and l.is_remembered
    group by t.lexeme;
  end if;
  return total;
end
$$;
comment on function maas.maas_count_terms is
  'Counts the terms of a user again, or removes the counts when a search can read all messages. '
  'Returns the number of messages';

create or replace function maas.maas_users_to_count(p_overlap interval, p_whole int default 2000)
returns setof uuid language sql stable as $$
  select u.user_id
  from (
    select distinct user_id from maas.raw_logs where created_at >= (
      select value::timestamptz - p_overlap from maas.engine_settings where key = 'terms_counted_until')) u
  left join maas.counted_users c on c.user_id = u.user_id
  cross join lateral (
    select count(*) as turns from (
      select from maas.raw_logs
      where user_id = u.user_id and is_remembered limit coalesce(c.turns * 11 / 10, p_whole) + 1) l) l
  where l.turns > coalesce(c.turns * 11 / 10, p_whole)
$$;
comment on function maas.maas_users_to_count is
  'Users who have written since the last count and have a tenth more messages, or more than p_whole without counts';
