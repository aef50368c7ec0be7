-- Locks that functions take; sql/schema/00_tour.sql lists them. A function that needs two takes the memory lock first,
-- but for maas_store_exchange, whose lock nobody else takes.
--
-- Advisory locks are open to every login of the database, even to one without any right, so nothing waits for one here.

create or replace function maas.maas_lock(p_subject text, p_key text default '') returns void language sql as $$
  select from maas.locks where subject = p_subject and place = hashtext(p_key) & 255 for update
$$;
comment on function maas.maas_lock is
  'Waits for a lock and holds it until the end of the transaction; few keys of a subject share one';

create or replace function maas.maas_try_lock(p_subject text, p_key text default '') returns boolean language sql as $$
  select exists (select from (
    select from maas.locks where subject = p_subject and place = hashtext(p_key) & 255 for update skip locked) l)
$$;
comment on function maas.maas_try_lock is
  'Takes a lock until the end of the transaction unless another session holds it; whether it was taken';

create or replace function maas.maas_lock_engine() returns void language plpgsql as $$
begin
  lock table maas.engine_lock in share update exclusive mode;
end
$$;
comment on function maas.maas_lock_engine is 'Takes the engine lock until the end of the transaction';

create or replace function maas.maas_lock_memory(p_user uuid) returns void language sql as $$
  select maas.maas_lock('memory', p_user::text)
$$;
comment on function maas.maas_lock_memory is 'Takes the memory lock of a user until the end of the transaction';

create or replace function maas.maas_lock_runs(p_user uuid, p_runs uuid[] default null)
returns void language plpgsql as $$
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
comment on function maas.maas_lock_runs is
  'Takes the engine lock and locks these runs of a user, or all of them, without deadlocks';
