-- Budgets of a day that operators have set, instead of those of the settings.

create or replace function maas.maas_set_budget(
  p_user uuid, p_tokens bigint, p_dollars float8, p_actor text default null)
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into maas.user_budgets as b (user_id, daily_tokens, daily_dollars, actor)
  values (p_user, p_tokens, p_dollars, coalesce(p_actor, 'sql:' || session_user))
  on conflict (user_id) do update set daily_tokens = excluded.daily_tokens, daily_dollars = excluded.daily_dollars,
    actor = excluded.actor, updated_at = clock_timestamp();
  perform maas.maas_write_audit('budget_set', nullif(p_user, '00000000-0000-0000-0000-000000000000'), null,
    jsonb_build_object('daily_tokens', p_tokens, 'daily_dollars', p_dollars), p_actor);
end
$$;
comment on function maas.maas_set_budget is
  'Sets the budget of a day of a user, or with the UUID of zeros of all who have none of their own; null: no limit';

create or replace function maas.maas_drop_budget(p_user uuid, p_actor text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from maas.user_budgets b where b.user_id = p_user;
  if not found then
    return false;
  end if;
  perform maas.maas_write_audit(
    'budget_drop', nullif(p_user, '00000000-0000-0000-0000-000000000000'), null, '{}', p_actor);
  return true;
end
$$;
comment on function maas.maas_drop_budget is
  'Ends a budget that was set: that of all users applies again, or the settings; false if there is none';

-- Orchestrators know what is set with the version of the assistants, which they see at every stage.
create or replace trigger count_assistants_version after insert or update or delete on maas.user_budgets
  for each statement execute function maas.count_assistants_version();
