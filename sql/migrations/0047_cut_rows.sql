-- What a draft shows cut of its last messages is in the rolling summary, too.

drop function maas_fold_conversation(uuid, int);

create function maas_fold_conversation(p_id uuid, p_keep int, p_cut uuid[] default '{}') returns boolean language plpgsql as $$
declare
  whose uuid;
  gone uuid[];   -- runs all of whose messages are older than the last p_keep, and those that are shown cut
  told text;
begin
  -- Whoever holds the conversation is not waited for: what is left is folded with the next exchange.
  select user_id into whose from chat_conversations where id = p_id for no key update skip locked;
  if not found then
    return false;
  end if;
  gone := array(
    select m.run_id from (
      select c.run_id, r.lane, row_number() over (order by r.seq desc, c.created_at desc) as place
      from chat_messages c join pipeline_runs r on r.id = c.run_id and r.user_id is not distinct from whose and r.lane > 0
      where c.conversation_id = p_id and c.user_id is not distinct from whose and c.role in ('user', 'assistant') and not c.is_folded) m
    group by m.run_id, m.lane
    having m.lane = 2 and (min(m.place) > p_keep or m.run_id = any(p_cut)));  -- in lane 1 its record is not written yet
  select string_agg(l.summary, ' ' order by l.occurred_at, l.created_at) into told
  from lsm_storage l where l.user_id is not distinct from whose
    and l.id in (select g.record_id from raw_logs g where g.run_id = any(gone) and g.user_id is not distinct from whose);
  update chat_messages set is_folded = true where conversation_id = p_id and run_id = any(gone);
  update chat_conversations set rolling_summary = maas_last_words(concat_ws(' ', nullif(rolling_summary, ''), told), 2000)
  where id = p_id and told is not null;
  return found;
end $$;
comment on function maas_fold_conversation is 'Adds to the rolling summary what the records say of exchanges before the last p_keep messages, and of the runs p_cut whose messages a draft shows cut, each once; whether there was any';
comment on column chat_conversations.rolling_summary is 'What was said before the last messages that a draft shows, and in those that it shows cut';

do $$ begin perform maas_grant_rights(); end $$;
