-- Images of users: what they upload, and what is drawn for them. A run names those that came with its query in
-- `attachment_ids`; what a run drew names that run. Messages of a dialogue carry the ids of both.
--
-- Bytes are stored once a user: the same upload again is the same row. There is no foreign key to pipeline_runs: each
-- update of a run would pay for it. An image that was deleted stays named where it was shown; readers leave it out.

create table attachments (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  kind varchar(10) not null default 'upload' check (kind in ('upload', 'generated')),
  run_id uuid,
  media_type varchar(50) not null check (media_type in ('image/jpeg', 'image/png', 'image/webp')),
  width int not null check (width > 0),
  height int not null check (height > 0),
  content bytea not null check (octet_length(content) between 1 and 20971520),
  sha256 text not null generated always as (encode(sha256(content), 'hex')) stored,
  created_at timestamptz not null default clock_timestamp(),
  check ((kind = 'generated') = (run_id is not null))
);
alter table attachments alter content set storage external;  -- images are compressed already
comment on table attachments is 'Images that a user uploaded, without metadata, and those that were drawn for them';
comment on column attachments.run_id is 'The run that drew it';
create unique index idx_attachments_content on attachments (user_id, sha256, run_id) nulls not distinct;
create index idx_attachments_run_id on attachments (run_id) where run_id is not null;

create function maas_keep_attachment(p_user uuid, p_run uuid, p_media_type text, p_width int, p_height int, p_content bytea)
returns uuid language plpgsql as $$
declare
  kept uuid;
begin
  if p_run is not null then  -- one that is being erased is waited for, and not found
    perform from pipeline_runs where id = p_run and user_id = p_user for key share;
    if not found then
      return null;
    end if;
  end if;
  insert into attachments (user_id, kind, run_id, media_type, width, height, content)
  values (p_user, case when p_run is null then 'upload' else 'generated' end, p_run, p_media_type, p_width, p_height, p_content)
  on conflict (user_id, sha256, run_id) do update set kind = excluded.kind  -- as it is; the row is locked until it is named
  returning id into kept;
  return kept;
end $$;
comment on function maas_keep_attachment is 'The id of an image, stored or there already: an upload, or what a run drew; null when that run was erased';

alter table pipeline_runs add attachment_ids uuid[] not null default '{}';
comment on column pipeline_runs.attachment_ids is 'Images that came with the query, at most 10';

create function check_attachments() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare
  stranger record;
begin
  if cardinality(new.attachment_ids) > 10 then
    raise check_violation using message = format('attachment_ids: %s are too many, a request takes at most 10', cardinality(new.attachment_ids)),
      hint = 'send several requests', table = 'pipeline_runs', column = 'attachment_ids';
  end if;
  select n.id into stranger from unnest(new.attachment_ids) n(id)
  where not exists (select from attachments a where a.id = n.id and a.user_id = new.user_id) limit 1;
  if found then
    raise foreign_key_violation using
      message = format('attachment_ids: %s is no attachment of this user', coalesce(stranger.id::text, 'null')),
      hint = 'upload it first: POST /v1/attachments', table = 'pipeline_runs', column = 'attachment_ids';
  end if;
  return new;
end $$;
create trigger check_attachments before insert or update of attachment_ids on pipeline_runs for each row
  when (new.attachment_ids <> '{}') execute function check_attachments();

alter table chat_messages add attachment_ids uuid[] not null default '{}';
comment on column chat_messages.attachment_ids is 'Images that came with a query, or were drawn for an answer';

create function show_attachments() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  new.attachment_ids := case new.role
    when 'user' then coalesce((select r.attachment_ids from pipeline_runs r where r.id = new.run_id), '{}')
    else array(select a.id from attachments a where a.run_id = new.run_id and a.user_id = new.user_id order by a.created_at, a.id)
  end;
  return new;
end $$;
create trigger show_attachments before insert on chat_messages for each row
  when (new.run_id is not null and new.attachment_ids = '{}' and new.role in ('user', 'assistant'))
  execute function show_attachments();

-- Moving house --------------------------------------------------------------------------------------------------------

create or replace function maas_restore(p_table regclass, p_user uuid, p_rows jsonb) returns int language plpgsql as $$
declare
  columns text;
  added int;
  there int;
begin
  if p_table::text not in ('raw_logs', 'lsm_storage', 'user_notes', 'chat_conversations', 'chat_messages', 'attachments') then
    raise feature_not_supported using message = format('%s is not restored', p_table);
  end if;
  select string_agg(quote_ident(a.attname), ', ' order by a.attnum) into columns from pg_attribute a
  where a.attrelid = p_table and a.attnum > 0 and not a.attisdropped and p_rows->0 ? a.attname::text
    and a.attname::text <> all(maas_derived_columns(p_table));
  execute format('insert into %1$s (user_id, %2$s) select $1, %2$s from jsonb_populate_recordset(null::%1$s, $2) on conflict do nothing',
    p_table, columns) using p_user, p_rows;
  get diagnostics added = row_count;
  execute format('select count(*) from %s t where t.user_id = $1 and t.id in (select (r->>''id'')::uuid from jsonb_array_elements($2) r)',
    p_table) into there using p_user, p_rows;
  -- A note that the user made anew says the same under another id.
  if there < (select count(distinct r->>'id') from jsonb_array_elements(p_rows) r) and p_table <> 'user_notes'::regclass then
    raise unique_violation using message = 'parts of it are there already, under other ids or of another user';
  end if;
  return added;
end $$;

create or replace function maas_settle_restore(p_user uuid, p_label text) returns uuid language plpgsql as $$
declare
  new_run uuid := gen_random_uuid();
begin
  if exists (select from lsm_storage l cross join unnest(l.raw_log_ids) u(id) where l.user_id = p_user
      and not exists (select from raw_logs g where g.id = u.id and g.user_id = p_user))
    or exists (select from raw_logs g where g.user_id = p_user and g.record_id is not null
      and not exists (select from lsm_storage l where l.id = g.record_id and l.user_id = p_user)) then
    raise foreign_key_violation using message = 'its records and its logs do not belong together';
  end if;
  if exists (select from chat_messages m join chat_conversations c on c.id = m.conversation_id
      where m.user_id = p_user and c.user_id <> p_user) then
    raise foreign_key_violation using message = 'its messages and its conversations do not belong together';
  end if;
  if (select count(*) from user_notes where user_id = p_user) > 200 then
    raise check_violation using message = 'with its notes the user would have more than 200';
  end if;
  update raw_logs g set run_id = new_run, turn_no = o.n from (
    select w.id, row_number() over (order by w.occurred_at, w.seq) as n from raw_logs w
    where w.user_id = p_user and w.archived_at is null and not exists (select from pipeline_runs r where r.id = w.run_id)) o
  where g.id = o.id;
  if not found then
    return null;
  end if;
  insert into pipeline_runs (id, user_id, user_query, kind, source) values (new_run, p_user, p_label, 'archive', 'import');
  return new_run;
end $$;
