-- Requests that wait for the next one of their conversation (`debounce`).
--
-- Each is inserted as a run that is scheduled for the end of its wait, with all that an insert checks, then joined to
-- the one before it that still waits. Those of one user are joined one after another, whoever inserts them.

create or replace function maas.maas_request_digest(
  p_query text, p_assistant text, p_conversation uuid, p_metadata jsonb, p_attachments uuid[], p_mode text,
  p_context jsonb, p_priority int, p_attributes jsonb)
returns bytea language sql immutable as $$
  select sha256(convert_to(jsonb_build_array(p_query, p_assistant, p_conversation,
    case jsonb_typeof(p_metadata) when 'object' then nullif(p_metadata - 'traceparent', '{}') else p_metadata end,
    p_attachments, p_mode, p_context, p_priority, p_attributes)::text, 'UTF8'))
$$;
comment on function maas.maas_request_digest is
  'A digest of a request, by which it is known when it is sent again, whatever span of its client it is part of';

create or replace function maas.maas_joined_run(p_id uuid, p_caller text default null, p_key text default null)
returns table (run_id uuid, digest bytea)
language sql stable as $$
  select d.run_id, d.digest from maas.debounced_requests d
  where d.id = p_id or d.caller = p_caller and d.idempotency_key = p_key
  order by d.id is distinct from p_id limit 1
$$;
comment on function maas.maas_joined_run is
  'The run that answers a request which waited for others, by its id or its idempotency key; none for other requests';

create or replace function maas.maas_join_request(p_run uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  sent maas.pipeline_runs;
  before maas.pipeline_runs;  -- the last one of the conversation that still waits
  whole text;
  digest bytea;
begin
  select * into sent from maas.pipeline_runs r where r.id = p_run;
  -- An engine that starts it at this moment holds its row; then it has started.
  select * into before from maas.pipeline_runs r
  where r.user_id = sent.user_id and r.queue_state = -4 and r.debounce is not null and r.id <> sent.id
    and r.conversation_id is not distinct from sent.conversation_id and r.assistant = sent.assistant
    and r.run_at > clock_timestamp() and r.cancel_requested_at is null
    -- not one of the same statement whose turn is to come
    and exists (select from maas.debounced_requests d where d.id = r.id)
  order by r.seq desc limit 1 for update skip locked;
  if not exists (select from maas.maas_joined_run(sent.id, sent.caller, sent.idempotency_key)) then
    -- A command alone beside images, such as /photo, stands for the words that they came without.
    whole := coalesce(nullif(concat_ws(e'\n',
      case when cardinality(before.attachment_ids) = 0 or before.user_query !~ '^/\w+$' then before.user_query end,
      case when cardinality(sent.attachment_ids) = 0 or sent.user_query !~ '^/\w+$' then sent.user_query end),
      ''), before.user_query);
    digest := maas.maas_request_digest(sent.user_query, sent.assistant, sent.conversation_id, sent.metadata,
      sent.attachment_ids, sent.mode, sent.client_context, sent.priority, sent.attributes);
    if (before.source, before.mode, before.priority, before.client_context, before.attributes, before.is_remembered,
        case when sent.source <> 'sql' then before.caller end)
      is not distinct from (sent.source, sent.mode, sent.priority, sent.client_context, sent.attributes,
        sent.is_remembered, case when sent.source <> 'sql' then sent.caller end)
      and octet_length(whole) <= 65536 and cardinality(before.attachment_ids || sent.attachment_ids) <= 10
    then
      insert into maas.debounced_requests (id, user_id, run_id, caller, idempotency_key, digest)
      values (sent.id, sent.user_id, before.id, sent.caller, sent.idempotency_key, digest);
    else
      insert into maas.debounced_requests (id, user_id, run_id, caller, idempotency_key, digest)
      values (sent.id, sent.user_id, sent.id, sent.caller, sent.idempotency_key, digest);
      -- One that it cannot be joined to goes first, at once.
      update maas.pipeline_runs set run_at = clock_timestamp() where id = before.id;
      return;
    end if;
    update maas.pipeline_runs set user_query = whole, attachment_ids = before.attachment_ids || sent.attachment_ids,
      metadata = case
        when jsonb_typeof(before.metadata) = 'object' and jsonb_typeof(sent.metadata) = 'object'
          then before.metadata || (sent.metadata - 'traceparent')
        else coalesce(sent.metadata, before.metadata) end,
      debounce = sent.debounce,
      run_at = least(clock_timestamp() + make_interval(secs => sent.debounce),
        before.created_at + make_interval(secs => 10 * greatest(before.debounce, sent.debounce)))
    where id = before.id;
    -- Their texts are one message; nobody has seen those that it is made of.
    delete from maas.raw_logs where run_id = before.id and user_id = before.user_id;
    update maas.raw_logs set run_id = before.id, content = whole, occurred_at = before.created_at,
      metadata = jsonb_build_object('request_id', before.id, 'timestamp', before.created_at)
    where run_id = sent.id and user_id = sent.user_id;
    update maas.chat_messages set run_id = before.id, content = whole,
      attachment_ids = before.attachment_ids || sent.attachment_ids
    where run_id = sent.id and user_id = sent.user_id;
  end if;
  delete from maas.raw_logs where run_id = sent.id and user_id = sent.user_id;
  delete from maas.pipeline_runs where id = sent.id;
end
$$;
comment on function maas.maas_join_request is
  'Joins a request that waits to the one of its conversation before it, if that still waits, and deletes one that was '
  'sent before. The caller holds the debounce lock of its user';
