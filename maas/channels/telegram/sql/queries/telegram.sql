-- Telegram: updates that came in, replies that go out.

-- name: telegram_lock  -- $1 bot: whether this session takes its updates from now on
select pg_try_advisory_lock(hashtextextended('maas.telegram', $1));

-- name: telegram_open  -- $1 bot, $2 its name, $3 assistant
select maas.maas_telegram_open($1, $2, $3);

-- name: telegram_take  -- $1 bot, $2 updates
select maas.maas_telegram_take($1, $2::jsonb);

-- name: telegram_unhandled  -- $1 bot, $2 updates after this one; in order
select update_id, payload from maas.telegram_updates where bot_id = $1 and handled_at is null and update_id > $2
order by update_id limit 1000;

-- name: telegram_handled  -- $1 bot, $2 update, $3 error or null
select maas.maas_telegram_handled($1, $2, $3);

-- name: telegram_fail  -- $1 bot, $2 update, $3 error
select maas.maas_telegram_fail($1, $2, $3);

-- name: telegram_ask  -- $1 bot, $2 update, $3 chat, $4 message to answer or null, $5 dialogue, $6 name of the user,
-- $7 assistant, $8 query, $9 language, $10 metadata, $11 attachments, $12 queue limit,
-- $13 seconds that it waits for the next one, or null
select verdict, run_id, reply_id, user_id
from maas.maas_telegram_ask($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::jsonb, $11::uuid[], $12, $13);

-- name: telegram_hold  -- $1 dialogue, $2 name of the user, $3 assistant, $4 seconds
select maas.maas_telegram_hold($1, $2, $3, $4);

-- name: telegram_start  -- $1 bot, $2 update, $3 chat, $4 dialogue, $5 name of the user, $6 assistant, $7 language,
-- $8 metadata
select verdict, run_id, reply_id, user_id from maas.maas_telegram_start($1, $2, $3, $4, $5, $6, $7, $8::jsonb);

-- name: telegram_notice  -- $1 bot, $2 update, $3 chat, $4 message to answer or null, $5 name of the user,
-- $6 language, $7 text
select reply_id, user_id from maas.maas_telegram_notice($1, $2, $3, $4, $5, $6, $7);

-- name: telegram_follow  -- $1 bot, $2 chat, $3 user, $4 run, $5 language, $6 message to answer or null
select maas.maas_telegram_follow($1, $2, $3, $4, $5, $6);

-- name: telegram_open_replies  -- $1 bot, $2 replies after this one; in order
select r.id, r.chat_id, r.user_id, r.run_id, r.notice, r.reply_to, r.language,
  greatest(0, extract(epoch from r.not_before - clock_timestamp()))::float8 as wait_s,
  coalesce(p.kind = 'task', false) as is_task
from maas.telegram_replies r left join maas.pipeline_runs p on p.id = r.run_id and p.user_id = r.user_id
where r.bot_id = $1 and r.state = 'open' and r.id > $2 order by r.id limit 1000;

-- name: telegram_tasks  -- $1 bot
select run_id, chat_id, user_id, language, reply_to from maas.maas_telegram_tasks($1);

-- name: telegram_messages  -- $1 reply: those that stand in the chat
select id, part, kind, action_id, message_id, shown, state from maas.telegram_messages
where reply_id = $1 and state in ('sending', 'sent', 'closed') order by part;

-- name: telegram_place  -- $1 reply, $2 part, $3 kind, $4 action or null
select maas.maas_telegram_place($1, $2, $3, $4);

-- name: telegram_set_message  -- $1 message, $2 state, $3 id in the chat or null, $4 hash or null
select maas.maas_telegram_set_message($1, $2, $3, $4);

-- name: telegram_end  -- $1 reply, $2 shown or dropped, $3 error or null
select maas.maas_telegram_end($1, $2, $3);

-- name: telegram_delay  -- $1 bot, $2 chat, $3 seconds
select maas.maas_telegram_delay($1, $2, $3);

-- name: telegram_report  -- $1 bot, $2 error
select maas.maas_telegram_report($1, $2);

-- name: telegram_clean
select maas.maas_telegram_clean();

-- name: telegram_decided  -- $1 bot: messages with buttons whose action needs no decision any more
select m.id, m.message_id, r.chat_id, r.user_id, r.language, r.reply_to, a.id as action_id, a.tool, a.arguments,
  a.effect, a.wording, a.status, a.action_run_id
from maas.telegram_messages m join maas.telegram_replies r on r.id = m.reply_id and r.bot_id = $1
join maas.v_actions a on a.id = m.action_id and a.user_id = m.user_id
where m.kind = 'action' and m.state = 'sent' and a.status <> 'pending' and m.message_id is not null
order by m.id limit 100;

-- name: telegram_action  -- $1 action, $2 user: what it does
select tool, arguments, effect, wording from maas.v_actions where id = $1 and user_id = $2;

-- name: telegram_bots  -- for people and metrics
select bot_id, username, assistant, error, extract(epoch from clock_timestamp() - polled_at)::float8 as silent_s,
  waiting, oldest_s, open, dropped, orphaned, in_doubt
from maas.v_telegram order by username;
