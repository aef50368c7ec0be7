-- Ids of what an export brings back. Who writes a file may write any id into it, so none is taken at its word:
--
--   it names a row of this very user       it stays: the same file again brings nothing twice
--   an operator moves a user, it is free   it stays: in a new database all is as it was
--   anything else                          an id that is made of the user, the old id and a secret of this database: nobody
--                                          can know or choose it, and the same old id leads to the same new one
--
-- What refers to each other in a file does so afterwards. Only maas_restore, which runs as the owner, reaches the secret.

create table restore_key (inner_pad bytea not null, outer_pad bytea not null);
comment on table restore_key is 'The secret of this database that ids of imports are made with, as HMAC-SHA-256 uses it; nobody but the owner reads it';
create unique index idx_restore_key_one on restore_key ((true));

do $$
declare
  secret bytea := sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
  inner_pad bytea := decode(repeat('36', 64), 'hex');
  outer_pad bytea := decode(repeat('5c', 64), 'hex');
begin
  for place in 0..31 loop
    inner_pad := set_byte(inner_pad, place, get_byte(inner_pad, place) # get_byte(secret, place));
    outer_pad := set_byte(outer_pad, place, get_byte(outer_pad, place) # get_byte(secret, place));
  end loop;
  insert into restore_key values (inner_pad, outer_pad);
end $$;

create function maas_restored_id(p_user uuid, p_id uuid) returns uuid language sql stable as $$
  select overlay(overlay(left(encode(sha256(k.outer_pad || sha256(k.inner_pad || uuid_send(p_user) || uuid_send(p_id))), 'hex'), 32)
    placing '8' from 13) placing '8' from 17)::uuid  -- version 8 and the variant of RFC 9562
  from restore_key k
$$;
comment on function maas_restored_id is 'The id under which a user gets what a file calls p_id; known to nobody without the secret';

create function maas_holders(p_ids uuid[]) returns table (id uuid, user_id uuid) language sql stable as $$
  select t.id, t.user_id from pipeline_runs t where t.id = any(p_ids)
  union all select t.id, t.user_id from raw_logs t where t.id = any(p_ids)
  union all select t.id, t.user_id from lsm_storage t where t.id = any(p_ids)
  union all select t.id, t.user_id from chat_conversations t where t.id = any(p_ids)
  union all select t.id, t.user_id from chat_messages t where t.id = any(p_ids)
  union all select t.id, t.user_id from chat_pending_actions t where t.id = any(p_ids)
  union all select t.id, t.user_id from user_notes t where t.id = any(p_ids)
  union all select t.id, t.user_id from attachments t where t.id = any(p_ids)
$$;
comment on function maas_holders is 'Whose rows have these ids';

create function maas_claimed_ids(p_user uuid, p_ids uuid[]) returns table (id uuid, is_own boolean, is_foreign boolean) language sql stable as $$
  select i.id, coalesce(h.is_own, false) and not h.is_foreign or not coalesce(h.is_foreign, false) and r.is_own,
    coalesce(h.is_foreign, false) or not coalesce(h.is_own, false) and not r.is_own and r.is_named
  from unnest(p_ids) i(id)
  left join (
    select h.id, bool_or(h.user_id = p_user) as is_own, bool_or(h.user_id <> p_user) as is_foreign from maas_holders(p_ids) h group by h.id
  ) h on h.id = i.id
  cross join lateral (  -- words that were restored name runs that are not there
    select exists (select from raw_logs g where g.run_id = i.id) or exists (select from chat_messages m where m.run_id = i.id)
        or exists (select from user_notes n where n.run_id = i.id) or exists (select from attachments a where a.run_id = i.id) as is_named,
      exists (select from raw_logs g where g.run_id = i.id and g.user_id is not distinct from p_user)
        or exists (select from chat_messages m where m.run_id = i.id and m.user_id is not distinct from p_user)
        or exists (select from user_notes n where n.run_id = i.id and n.user_id is not distinct from p_user)
        or exists (select from attachments a where a.run_id = i.id and a.user_id is not distinct from p_user) as is_own) r
$$;
comment on function maas_claimed_ids is 'Which ids are those of rows or runs of this user, and which are somebody else''s; the others are free';

create function maas_name_ids(p_user uuid, p_ids uuid[], p_keep boolean) returns jsonb language sql stable as $$
  with made as materialized (
    select i.id, maas_restored_id(p_user, i.id) as made_id from unnest(p_ids) i(id)
  ), there as materialized (  -- brought by the user before, it has its id already
    select id from maas_claimed_ids(p_user, case when p_keep then array(select made_id from made) else '{}' end) where is_own
  )
  select coalesce(jsonb_object_agg(c.id,
    case when c.is_own or p_keep and not c.is_foreign and t.id is null then c.id else m.made_id end), '{}')
  from maas_claimed_ids(p_user, p_ids) c join made m on m.id = c.id left join there t on t.id = m.made_id
$$;
comment on function maas_name_ids is 'Ids of a file, and what each becomes; p_keep: an operator restores, what is free stays';

drop function maas_restore(regclass, uuid, jsonb);
create function maas_restore(p_table regclass, p_user uuid, p_rows jsonb, p_keep boolean default false) returns int language plpgsql as $$
declare
  columns text;
  single text[];  -- columns of an id
  lists text[];   -- columns of several
  ids uuid[];
  names jsonb;
  added int;
  there int;
begin
  if p_table::text not in ('raw_logs', 'lsm_storage', 'user_notes', 'chat_conversations', 'chat_messages', 'attachments') then
    raise feature_not_supported using message = format('%s is not restored', p_table);
  end if;
  select string_agg(quote_ident(a.attname), ', ' order by a.attnum),
    coalesce(array_agg(a.attname::text) filter (where a.atttypid = 'uuid'::regtype), '{}'),
    coalesce(array_agg(a.attname::text) filter (where a.atttypid = 'uuid[]'::regtype), '{}')
  into columns, single, lists from pg_attribute a
  where a.attrelid = p_table and a.attnum > 0 and not a.attisdropped and p_rows->0 ? a.attname::text
    and a.attname::text <> all(maas_derived_columns(p_table));

  ids := array(
    select distinct v.id::uuid from jsonb_array_elements(p_rows) r(line) cross join lateral (
      select r.line->>c from unnest(single) c
      union all
      select u.id from unnest(lists) c cross join lateral jsonb_array_elements_text(r.line->c) u(id)) v(id)
    where v.id is not null);
  names := maas_name_ids(p_user, ids, p_keep);
  p_rows := (
    select jsonb_agg(r.line || one.named || several.named order by r.place)
    from jsonb_array_elements(p_rows) with ordinality r(line, place)
    cross join lateral (
      select coalesce(jsonb_object_agg(c, names->(r.line->>c)), '{}') as named from unnest(single) c) one
    cross join lateral (
      select coalesce(jsonb_object_agg(c, (
        select coalesce(jsonb_agg(names->u.id order by u.place), '[]')
        from jsonb_array_elements_text(r.line->c) with ordinality u(id, place))), '{}') as named
      from unnest(lists) c) several);
  if exists (
    select from maas_holders(array(select value::uuid from jsonb_each_text(names))) h where h.user_id <> p_user) then
    raise foreign_key_violation using message = 'it names rows of another user';
  end if;
  if p_table = 'chat_messages'::regclass and exists (
    select from jsonb_array_elements(p_rows) r(line)
    where not exists (select from chat_conversations c where c.id = (r.line->>'conversation_id')::uuid and c.user_id = p_user)) then
    raise foreign_key_violation using message = 'its messages and its conversations do not belong together';
  end if;

  execute format('insert into %1$s (user_id, %2$s) select $1, %2$s from jsonb_populate_recordset(null::%1$s, $2) on conflict do nothing',
    p_table, columns) using p_user, p_rows;
  get diagnostics added = row_count;
  execute format('select count(*) from %s t where t.user_id = $1 and t.id in (select (r->>''id'')::uuid from jsonb_array_elements($2) r)',
    p_table) into there using p_user, p_rows;
  -- A note that the user made anew says the same under another id.
  if there < (select count(distinct r->>'id') from jsonb_array_elements(p_rows) r) and p_table <> 'user_notes'::regclass then
    raise unique_violation using message = 'parts of it are there already, under other ids';
  end if;
  return added;
end $$;
comment on function maas_restore is 'Rows of an export that are not there yet, under ids of their user; p_keep: ids that are free stay';

-- Words lead to the record of their exchange, of level 0, and that is the parent of none: forgetting relies on it.
do $$
declare
  text_then text := pg_get_functiondef('maas_settle_restore'::regproc);
  text_now text := replace(text_then, 'where l.id = g.record_id and l.user_id = p_user)) then',
    'where l.id = g.record_id and l.user_id = p_user and l.level = 0))
    or exists (select from lsm_storage c join lsm_storage l on l.id = c.superseded_by and l.user_id = p_user and l.level = 0
      where c.user_id = p_user) then');
begin
  if text_now = text_then then
    raise exception 'maas_settle_restore does not ask for the records of words';
  end if;
  execute text_now;
end $$;

do $$
declare
  text_then text := pg_get_functiondef('maas_relations'::regproc);
  text_now text := replace(text_then, '''api_keys'', ', '''api_keys'', ''restore_key'', ');
begin
  if text_now = text_then then
    raise exception 'maas_relations does not name api_keys';
  end if;
  execute text_now;
  perform maas_grant_rights();
end $$;
