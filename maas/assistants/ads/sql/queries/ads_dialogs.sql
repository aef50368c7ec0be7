-- Dialogues of WhatsApp and mass mailings. Nothing but a mailing depends on a connection.

-- name: ads_count_dialogs  -- $1 user, $2 user account, $3 $4 from and to of the last message, $5 temperature;
-- nulls: any
select count(*) filter (where c.last_message_at >= coalesce($3::timestamptz, '-infinity')
    and c.last_message_at < coalesce($4::timestamptz, 'infinity')) as count,
  count(*) as count_all_time
from maas.whatsapp_chats c
  left join maas.leads l on l.id = c.lead_id and l.user_account_id = $2 and l.chat_analysis_json is not null
    and $5::text is not null
  left join maas.dialog_summaries s on s.user_account_id = c.user_account_id and s.chat_jid = c.jid and $5 is not null
where c.user_id = $1 and c.user_account_id = $2 and c.last_message_at is not null and ($5 is null
  or maas.maas_temperature(
    coalesce(s.temperature, l.chat_analysis_json ->> 'temperature'), c.messages_in, c.last_message_at) = $5);

-- name: ads_dialogs  -- $1 to $5 as ads_count_dialogs, $6 how many; the last written in first
select c.id, c.jid, coalesce(c.name, l.name) as name, coalesce(l.phone, c.number) as phone,
  c.lead_id, c.messages_in, c.messages_out, c.last_message_at,
  s.summary is not null and s.messages_up_to >= c.last_message_at as is_summary_current,
  maas.maas_temperature(
    coalesce(s.temperature, l.chat_analysis_json ->> 'temperature'), c.messages_in, c.last_message_at) as temperature
from maas.whatsapp_chats c
  left join maas.leads l on l.id = c.lead_id
  left join maas.dialog_summaries s on s.user_account_id = c.user_account_id and s.chat_jid = c.jid
where c.user_id = $1 and c.user_account_id = $2
  and c.last_message_at >= coalesce($3::timestamptz, '-infinity')
  and c.last_message_at < coalesce($4::timestamptz, 'infinity') and ($5::text is null
    or maas.maas_temperature(
      coalesce(s.temperature, l.chat_analysis_json ->> 'temperature'), c.messages_in, c.last_message_at) = $5)
order by c.last_message_at desc, c.jid limit $6;

-- name: ads_dialog  -- $1 user, $2 user account, $3 id of a dialogue or of a lead, or null,
-- $4 a phone number, or null
select c.id, c.jid, coalesce(c.name, l.name) as name, coalesce(l.phone, c.number) as phone,
  c.lead_id, c.messages_in, c.messages_out, c.last_message_at,
  s.summary is not null and s.messages_up_to >= c.last_message_at as is_summary_current,
  maas.maas_temperature(
    coalesce(s.temperature, l.chat_analysis_json ->> 'temperature'), c.messages_in, c.last_message_at) as temperature
from maas.whatsapp_chats c
  left join maas.leads l on l.id = c.lead_id
  left join maas.dialog_summaries s on s.user_account_id = c.user_account_id and s.chat_jid = c.jid
where c.user_id = $1 and c.user_account_id = $2
  and (c.id = $3::uuid or c.lead_id = $3
    or c.number = maas.maas_phone_number($4))
order by c.id = $3 desc nulls last, c.last_message_at desc nulls last limit 1;

-- name: ads_dialog_messages  -- $1 user, $2 user account, $3 jid, $4 how many of the newest to skip, $5 how many,
-- $6 characters of each
select direction, left(text, $6) as text, sent_at from maas.whatsapp_messages
where user_id = $1 and user_account_id = $2 and chat_jid = $3
order by sent_at desc, id desc offset $4 limit $5;

-- name: ads_search_summaries  -- $1 user, $2 user account, $3 query, $4 temperature or null, $5 how many;
-- those with most words of the query first
with asked as materialized (
  select maas.maas_any_term(t.lexemes) as any_term, maas.maas_terms(t.lexemes) as terms from (
    select array(
      select w.lexeme from unnest(maas.maas_lexemes($3)) w
      order by length(w.lexeme) desc, w.lexeme limit 32) as lexemes) t
)
select c.id, s.summary, s.updated_at, coalesce(c.name, l.name) as name,
  coalesce(l.phone, c.number) as phone, c.lead_id, c.last_message_at, s.words, s.found,
  maas.maas_temperature(
    coalesce(s.temperature, l.chat_analysis_json ->> 'temperature'), c.messages_in, c.last_message_at) as temperature
from (
  select s.user_account_id, s.chat_jid, s.summary, s.updated_at, s.temperature, count(*) over () as found,
    (select count(*) from unnest(a.terms) term where s.tsv @@ term) as words
  from asked a join maas.dialog_summaries s on s.tsv @@ a.any_term
  where s.user_id = $1 and s.user_account_id = $2 and ($4::text is null or $4 = (
    select maas.maas_temperature(
      coalesce(s.temperature, l.chat_analysis_json ->> 'temperature'), c.messages_in, c.last_message_at)
    from (select) one left join maas.whatsapp_chats c on c.user_account_id = s.user_account_id and c.jid = s.chat_jid
      left join maas.leads l on l.id = c.lead_id))
  order by words desc, s.updated_at desc, s.chat_jid limit $5) s
  left join maas.whatsapp_chats c on c.user_account_id = s.user_account_id and c.jid = s.chat_jid
  left join maas.leads l on l.id = c.lead_id
order by s.words desc, s.updated_at desc, s.chat_jid;

-- name: ads_keep_summary  -- $1 user, $2 user account, $3 jid, $4 summary, $5 temperature,
-- $6 time of the last message that it is of
-- Nothing is changed by the same summary, nor by one of fewer messages than the stored one's.
insert into maas.dialog_summaries as s (
  user_id, user_account_id, chat_jid, summary, temperature, messages_up_to, updated_at)
select c.user_id, c.user_account_id, c.jid, $4, $5, $6, maas.maas_now()
from maas.whatsapp_chats c where c.user_id = $1 and c.user_account_id = $2 and c.jid = $3
on conflict (user_account_id, chat_jid) do update set summary = excluded.summary, temperature = excluded.temperature,
  messages_up_to = excluded.messages_up_to, updated_at = excluded.updated_at
where (s.messages_up_to is null or s.messages_up_to <= excluded.messages_up_to)
  and (s.summary, s.temperature, s.messages_up_to) is distinct from (
    excluded.summary, excluded.temperature, excluded.messages_up_to);

-- name: ads_recipients  -- $1 user, $2 user account, $3 ids of dialogues or leads, $4 phone numbers:
-- one of both for each, in order
select c.id as chat_id, c.jid, c.number, l.id as lead_id, l.phone_digits, coalesce(c.name, l.name) as name
from unnest($3::uuid[], $4::text[]) with ordinality r(id, phone, n)
  cross join lateral (select maas.maas_phone_number(r.phone) as digits) p
  join maas.user_accounts u on u.user_id = $1 and u.id = $2
  left join lateral (
    select * from maas.whatsapp_chats w
    where w.user_account_id = u.id
      and (w.id = r.id or w.lead_id = r.id or w.number = p.digits)
    order by w.id = r.id desc nulls last, w.last_message_at desc nulls last, w.jid limit 1) c on true
  left join lateral (
    select * from maas.leads e
    where e.user_account_id = u.id and (e.id in (r.id, c.lead_id) or e.phone_digits = p.digits)
    order by e.id = r.id desc nulls last, e.id = c.lead_id desc nulls last, e.created_at desc, e.id limit 1) l on true
order by r.n;

-- name: ads_begin_send  -- $1 user, $2 run, $3 number: true if the message may be sent now; no row once it was begun
insert into maas.whatsapp_sends (user_id, run_id, number)
select r.user_id, r.id, $3 from maas.pipeline_runs r where r.user_id = $1 and r.id = $2
on conflict (run_id, number) do nothing returning true;

-- name: ads_end_send  -- $1 user, $2 run, $3 number, $4 state, $5 message, $6 problem
update maas.whatsapp_sends set state = $4, message_id = $5, problem = $6
where user_id = $1 and run_id = $2 and number = $3 and state = 'sending';

-- name: ads_sends  -- $1 user, $2 run: the recipients of a mailing so far
select number, state, problem from maas.whatsapp_sends where user_id = $1 and run_id = $2;
