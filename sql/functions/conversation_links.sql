-- Links by which anybody may read a conversation.

create or replace function maas.maas_share_conversation(p_conversation uuid, p_hash bytea, p_days int,
  p_evidence boolean, p_actor text default null)
returns table (verdict text, id uuid) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  owner uuid;
begin
  select c.user_id into owner from maas.chat_conversations c where c.id = p_conversation for key share;
  if not found then
    return query select 'not_found', null::uuid;
    return;
  end if;
  delete from maas.conversation_links l where l.user_id = owner and l.expires_at < maas.maas_now();
  if (select count(*) from maas.conversation_links l where l.user_id = owner) >= 100 then
    return query select 'too_many', null::uuid;
    return;
  end if;
  insert into maas.conversation_links as l (user_id, conversation_id, hash, has_evidence, expires_at)
  values (owner, p_conversation, p_hash, p_evidence, maas.maas_now() + make_interval(days => p_days))
  returning l.id into id;
  perform maas.maas_write_audit('share', owner, p_conversation,
    jsonb_build_object('link_id', id, 'days', p_days, 'evidence', p_evidence), p_actor);
  return query select 'created', id;
end
$$;
comment on function maas.maas_share_conversation is
  'Makes a link to a conversation: created, not_found, or too_many (a user has at most 100)';

create or replace function maas.maas_list_links(p_user uuid, p_conversation uuid default null)
returns table (id uuid, conversation_id uuid, title text, has_evidence boolean, created_at timestamptz,
  expires_at timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select l.id, l.conversation_id, c.title, l.has_evidence, l.created_at, l.expires_at
  from maas.conversation_links l join maas.chat_conversations c on c.id = l.conversation_id and c.user_id = l.user_id
  where l.user_id = p_user and (p_conversation is null or l.conversation_id = p_conversation)
    and l.expires_at > maas.maas_now()
  order by l.created_at desc, l.id
$$;
comment on function maas.maas_list_links is 'The links of a user that lead somewhere, newest first';

create or replace function maas.maas_link_owner(p_id uuid) returns uuid
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select user_id from maas.conversation_links where id = p_id
$$;
comment on function maas.maas_link_owner is 'Whose a link is; null if there is none';

create or replace function maas.maas_revoke_link(p_id uuid, p_actor text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  gone maas.conversation_links;
begin
  delete from maas.conversation_links where id = p_id returning * into gone;
  if gone.id is null then
    return false;
  end if;
  perform maas.maas_write_audit('unshare', gone.user_id, gone.conversation_id,
    jsonb_build_object('link_id', p_id), p_actor);
  return true;
end
$$;
comment on function maas.maas_revoke_link is 'Deletes a link; false if there is none';

create or replace function maas.maas_open_link(p_hash bytea, p_days int)
returns table (user_id uuid, conversation_id uuid, assistant varchar, title text, has_evidence boolean,
  created_at timestamptz, expires_at timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select l.user_id, l.conversation_id, c.assistant, c.title, l.has_evidence, l.created_at,
    least(l.expires_at, l.created_at + make_interval(days => p_days))
  from maas.conversation_links l join maas.chat_conversations c on c.id = l.conversation_id and c.user_id = l.user_id
  where l.hash = p_hash and least(l.expires_at, l.created_at + make_interval(days => p_days)) > maas.maas_now()
$$;
comment on function maas.maas_open_link is
  'The conversation of a token, unless its link has expired, or is older than the p_days that links last now';
