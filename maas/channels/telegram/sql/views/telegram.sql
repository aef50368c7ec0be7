-- For operators.

create view maas.v_telegram as
select b.bot_id, b.username, b.assistant, b.error, b.polled_at, u.waiting, u.oldest_s, r.open, r.dropped,
  m.orphaned, m.in_doubt
from maas.telegram_bots b
cross join lateral (
  select count(*) as waiting, extract(epoch from clock_timestamp() - min(received_at))::float8 as oldest_s
  from maas.telegram_updates where bot_id = b.bot_id and handled_at is null) u
cross join lateral (
  select count(*) filter (where state = 'open') as open, count(*) filter (where state = 'dropped') as dropped
  from maas.telegram_replies where bot_id = b.bot_id) r
cross join lateral (
  select count(*) filter (where m.state = 'orphaned') as orphaned,
    count(*) filter (where m.state = 'in_doubt') as in_doubt
  from maas.telegram_messages m join maas.telegram_replies p on p.id = m.reply_id and p.bot_id = b.bot_id
  where m.state in ('orphaned', 'in_doubt')) m;
comment on view maas.v_telegram is
  'Bots: updates that wait, replies that are open or were dropped, '
  'messages that may stand empty in a chat or may not have arrived';
