-- A name that a question asks for stands in the question, not in what its bearer said: a search must know who speaks.
alter table counted_users add speakers text[];
comment on column counted_users.speakers is 'Who spoke most, when the words were counted';

create function maas_speakers(p_user uuid) returns text[] language sql stable as $$
  select array(select speaker from raw_logs where user_id = p_user and speaker is not null group by speaker order by count(*) desc, speaker limit 100)
$$;
comment on function maas_speakers is 'Those who spoke most in a user''s memory, at most a hundred';

create or replace function maas_count_terms(p_user uuid, p_whole int default 2000) returns int language plpgsql as $$
declare
  total int := (select count(*) from raw_logs where user_id = p_user);
begin
  if not pg_try_advisory_xact_lock(4715, hashtext(p_user::text)) then
    return total;  -- somebody else is counting them
  end if;
  delete from counted_users where user_id = p_user;
  if total > p_whole then
    insert into counted_users (user_id, turns, speakers) values (p_user, total, maas_speakers(p_user));
    insert into term_df select p_user, t.lexeme, count(*)
    from raw_logs l cross join lateral unnest(l.tsv) t where l.user_id = p_user group by t.lexeme;
  end if;
  return total;
end $$;

update counted_users set speakers = maas_speakers(user_id);
