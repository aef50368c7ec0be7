-- What became of the messages of people in Telegram. chaos_chats holds what stands in the chats at the end.

-- name: telegram_tables
create table if not exists public.chaos_chats (chat bigint, message_id bigint, text text);

-- name: telegram_progress
select (select count(*) from maas.telegram_updates where handled_at is not null) as handled,
  (select count(*) from maas.telegram_replies where state <> 'open') as ended;

-- name: telegram_verdict  -- $1 how many messages people wrote
with shown as (
  select r.run_id, r.chat_id, p.seq, p.user_query, p.final_answer, m.message_id, c.text
  from maas.telegram_replies r join maas.pipeline_runs p on p.id = r.run_id
  left join maas.telegram_messages m on m.reply_id = r.id and m.kind = 'text' and m.state = 'sent'
  left join public.chaos_chats c on c.chat = r.chat_id and c.message_id = m.message_id
)
select name, found::int from (values
  (1, 'messages of people that were lost',
    %(sent)s - (select count(distinct user_query) from maas.pipeline_runs where kind = 'ask')),
  (2, 'messages of people that were asked twice', (select count(*) from (
    select from maas.pipeline_runs where kind = 'ask' group by user_query having count(*) > 1) d)),
  (3, 'answers that stand in no chat', (select count(*) from shown where text is null)),
  (4, 'answers that stand in a chat twice', (
    select count(*) from public.chaos_chats c where c.text <> '…' and not exists (
      select from shown s where s.chat_id = c.chat and s.message_id = c.message_id))),
  (5, 'answers whose text is not whole',
    (select count(*) from shown where text is not null and left(btrim(final_answer, E' \n'), 20) <> left(text, 20))),
  (6, 'answers out of order in their chat', (select count(*) from (
    select message_id, lag(message_id) over (partition by chat_id order by seq) as before from shown) o
    where before > message_id)),
  (7, 'questions out of order in their chat', (select count(*) from (
    select user_query, lag(user_query) over (partition by chat_id order by seq) as before from shown) o
    where before > user_query)),
  (8, 'runs that have not ended well', (select count(*) from maas.pipeline_runs where status <> 'COMPLETED')),
  (9, 'empty messages that nobody counts', (
    select greatest(0, (select count(*) from public.chaos_chats where text = '…')
      - (select count(*) from maas.telegram_messages where state = 'orphaned'))))
) v(place, name, found) order by place;

-- name: telegram_figures
select (select count(*) from maas.telegram_updates) as updates, (select count(*) from maas.telegram_replies) as replies,
  (select count(*) from public.chaos_chats where text <> '…') as texts,
  (select count(*) from public.chaos_chats where text = '…') as empty_messages,
  (select count(*) from maas.telegram_messages where state = 'orphaned') as orphaned,
  (select round(1000 * percentile_cont(0.5) within group (order by extract(epoch from handled_at - received_at)))
   from maas.telegram_updates) as handled_p50_ms,
  (select round(1000 * percentile_cont(0.95) within group (order by extract(epoch from handled_at - received_at)))
   from maas.telegram_updates) as handled_p95_ms;
