-- Deleting a conversation: its messages are forgotten as single ones are, then its requests go, which retention would
-- delete, too. What they cost stays in token_usage and in the sums of days. One transaction, as in forget.sql.

create or replace function maas.maas_forget_conversation(p_id uuid, p_actor text default null,
  p_doubtful boolean default false)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  target_user uuid := (select c.user_id from maas.chat_conversations c where c.id = p_id);
  own_runs uuid[];
  words uuid[];
  images uuid[];
  stopped int;  -- schedules that would open it anew
  result jsonb;
  counts jsonb;
begin
  if target_user is null then
    return jsonb_build_object('verdict', 'not_found');
  end if;
  perform maas.maas_lock_memory(target_user);
  perform from maas.chat_conversations c where c.id = p_id for update;  -- after requests that are just being inserted
  if not found then
    return jsonb_build_object('verdict', 'not_found');
  end if;
  own_runs := array(select r.id from maas.pipeline_runs r where r.user_id = target_user and r.conversation_id = p_id);
  words := array(  -- runs are not imported; messages that were cleared are remembered
    select g.id from maas.raw_logs g
    where g.user_id = target_user and (g.conversation = p_id::text or g.run_id = any(own_runs) or g.run_id in (
      select m.run_id from maas.chat_messages m where m.conversation_id = p_id and m.user_id = target_user)));
  if maas.maas_is_in_use(target_user, words) or exists (
    select from maas.pipeline_runs r where r.id = any(own_runs) and r.queue_state < 2) then
    return jsonb_build_object('verdict', 'in_use');
  end if;
  counts := jsonb_build_object('messages', (
    select count(*) from maas.chat_messages m where m.conversation_id = p_id and m.role in ('user', 'assistant')));
  result := maas.maas_forget_words(target_user, p_id, words, array(
    select r from maas.maas_runs_using(
      target_user, words || array(select o from maas.maas_records_covering(target_user, words) o)) r
    where r <> all(own_runs)), p_doubtful);
  if result->>'verdict' <> 'forgotten' then
    return result;
  end if;
  images := array(  -- that no other request has
    select a.id from maas.attachments a
    where a.user_id = target_user and (a.run_id = any(own_runs) or a.run_id is null and exists (
        select from maas.pipeline_runs r where r.id = any(own_runs) and a.id = any(r.attachment_ids)))
      and not exists (
        select from maas.pipeline_runs r
        where r.user_id = target_user and r.id <> all(own_runs) and a.id = any(r.attachment_ids))
      and not exists (
        select from maas.assistant_sessions s
        where s.user_id = target_user and s.is_active and s.conversation_id is distinct from p_id
          and a.id in (s.photo, s.offered_photo)));
  delete from maas.attachments a where a.id = any(images);
  delete from maas.schedules s where s.user_id = target_user and s.conversation_id = p_id;
  get diagnostics stopped = row_count;
  perform maas.maas_count_runs(own_runs);
  delete from maas.pipeline_runs r where r.id = any(own_runs);
  delete from maas.chat_conversations c where c.id = p_id;
  counts := counts || (result->'counts') || jsonb_build_object(
    'images', cardinality(images), 'schedules', stopped);
  perform maas.maas_write_audit('forget_conversation', target_user, p_id,
    counts || jsonb_build_object('doubtful', result->'doubtful_runs'), p_actor);
  perform maas.maas_emit('memory.forgotten', target_user, p_id,
    jsonb_build_object('conversation_id', p_id) || counts);
  return result - 'counts' || counts;
end
$$;
comment on function maas.maas_forget_conversation is
  'Returns forgotten, not_found or in_use: deletes a conversation with its requests, schedules, messages and images, '
  'and what maas_forget deletes with these messages. p_doubtful: as there; a later call is of maas_forget';
