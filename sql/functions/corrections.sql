-- Corrections of memories. A correction is a message of its own; what it corrects stays as it was said.

create or replace function maas.maas_correct(p_user uuid, p_memory uuid, p_content text, p_source text default 'api')
returns table (run_id uuid, log_id uuid) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  said_at timestamptz;
begin
  perform maas.maas_lock_memory(p_user);
  if not exists (
    select from maas.raw_logs g where g.id = p_memory and g.user_id = p_user
    union all
    select from maas.lsm_storage l where l.id = p_memory and l.user_id = p_user and not l.is_provisional) then
    return;
  end if;
  select g.run_id, g.id into run_id, log_id from (
    select g.run_id, g.id, g.content from maas.memory_corrections c
    join maas.raw_logs g on g.id = c.id and g.user_id = p_user
    where c.user_id = p_user and c.memory_id = p_memory order by c.created_at desc, c.id desc limit 1) g
  where g.content = p_content;
  if not found then
    said_at := clock_timestamp();
    select i.run_id into run_id from maas.maas_import(p_user, 'a correction to remember',
      jsonb_build_array(jsonb_build_object('role', 'user', 'content', p_content, 'at', said_at)), p_source) i;
    select g.id into log_id from maas.raw_logs g where g.run_id = maas_correct.run_id and g.user_id = p_user;
    insert into maas.memory_corrections (id, user_id, memory_id, root_id, created_at)
    values (log_id, p_user, p_memory, coalesce(
      (select c.root_id from maas.memory_corrections c where c.id = p_memory and c.user_id = p_user), p_memory),
      said_at);
  end if;
  return next;
end
$$;
comment on function maas.maas_correct is
  'Logs a message of the user that corrects a memory, and a run that summarises it; '
  'the text of the newest correction again is that correction. No row: there is no such memory';

create or replace function maas.maas_corrections(p_user uuid, p_at timestamptz)
returns table (id uuid, memory_id uuid, root_id uuid, place bigint, valid_id uuid, valid_from timestamptz)
language sql stable as $$
  select c.id, c.memory_id, c.root_id, row_number() over (partition by c.root_id order by c.created_at, c.id),
    first_value(c.id) over newest, first_value(g.occurred_at) over newest
  from (select * from maas.memory_corrections where user_id = p_user offset 0) c
  -- offset 0: one index probe per message, never a scan
  cross join lateral (select * from maas.raw_logs l where l.id = c.id offset 0) g
  where g.user_id = p_user and g.known_at <= p_at
  window newest as (partition by c.root_id order by c.created_at desc, c.id desc)
$$;
comment on function maas.maas_corrections is
  'The corrections of a user that were known at a moment: their place among those of their root, '
  'and the newest of these, which is valid';

create or replace function maas.maas_relink_corrections(p_user uuid, p_gone uuid[]) returns void language plpgsql as $$
begin
  -- The first correction of a root that goes takes its place: it corrects nothing any more, the later ones correct it.
  with heirs as materialized (
    select distinct on (c.root_id) c.root_id, c.id from maas.memory_corrections c
    where c.user_id = p_user and c.root_id = any(p_gone) and c.id <> all(p_gone) order by c.root_id, c.created_at, c.id
  ), moved as (
    update maas.memory_corrections c set root_id = h.id,
      memory_id = case when c.memory_id = any(p_gone) then h.id else c.memory_id end
    from heirs h where c.user_id = p_user and c.root_id = h.root_id and c.id <> h.id
  )
  delete from maas.memory_corrections c using heirs h where c.user_id = p_user and c.id = h.id;
  update maas.memory_corrections c set memory_id = c.root_id where c.user_id = p_user and c.memory_id = any(p_gone);
end
$$;
comment on function maas.maas_relink_corrections is
  'Before messages and summaries of a user are deleted: corrections of these correct what is left; '
  'a memory without corrections is valid again';
