-- Locks that functions take. Their numbers are in sql/schema/00_tour.sql. A function that needs two takes the memory lock first.

create or replace function maas.maas_lock_engine() returns void language sql as $$
 select pg_advisory_xact_lock(4712, 1)
$$;
comment on function maas.maas_lock_engine is 'Takes the engine lock until the end of the transaction';

create or replace function maas.maas_lock_memory(p_user uuid) returns void language sql as $$
  select pg_advisory_xact_lock(4714, hashtext(p_user::text))
$$;
comment on function maas.maas_lock_memory is 'Takes the memory lock of a user until the end of the transaction';

create or replace function maas.maas_lock_runs(p_user uuid, p_runs uuid[] default null) returns void language plpgsql as $$
begin
  loop
    begin
      perform maas.maas_lock_engine();
      if p_runs is null then
        perform from maas.pipeline_runs where user_id = p_user for update nowait;
      else
        perform from maas.pipeline_runs where id = any(p_runs) and user_id = p_user for update nowait;
      end if;
      return;
    exception when lock_not_available then
      perform pg_sleep(0.005);  -- all or none: maas_advance also locks several runs, in an order of its own
    end;
  end loop;
end
$$;
comment on function maas.maas_lock_runs is 'Takes the engine lock and locks these runs of a user, or all of them, without deadlocks';
