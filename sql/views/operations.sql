-- For operators.

create view maas.v_audit as
select at, actor, action, user_id, subject, details from maas.audit order by id desc;
comment on view maas.v_audit is 'The audit, newest first';

create view maas.v_keys with (security_invoker = true) as
select id, name, scopes, user_id, prefix, per_minute, created_at, expires_at, last_used_at,
  case when revoked_at is not null then 'revoked' when expires_at <= maas.maas_now() then 'expired'
    else 'active' end as state
from maas.api_keys;
comment on view maas.v_keys is 'API keys without their hashes, and whether each is active, expired or revoked';

create view maas.v_webhooks as
select e.id, e.user_id, e.url, e.events, e.has_texts, e.created_at, coalesce(e.disabled_because, 'enabled') as state,
  e.disabled_at, e.failing_since, e.paused_until,
  (select count(*) from maas.webhook_deliveries d where d.endpoint_id = e.id and d.state = 'waiting') as waiting
from maas.webhook_endpoints e where e.task_id is null;
comment on view maas.v_webhooks is
  'Endpoints of webhooks but for those of tasks of A2A, without their secrets; state: enabled, or why it is disabled; '
  'waiting: events to be sent';

create view maas.v_embedding as
select f.model, f.turns as embedded, f.refused, b.waiting, b.is_estimate, f.tokens, f.leased_until > now() as is_running
from (select * from maas.embedding_fills order by leased_until desc limit 1) f
left join lateral maas.maas_embedding_backlog(f.model) b on true;
comment on view maas.v_embedding is
  'The embedding model in use: messages that have a vector, that it refused, that wait; '
  'whether an orchestrator works on them';

create view maas.v_user_quotas as
select u.user_id, u.name, u.used::bigint as used, l.quota, round(u.used / nullif(l.quota, 0)::numeric, 3) as share
from (
  select user_id, 'user_conversations' as name, count(*) as used from maas.chat_conversations group by user_id
  union all
  select d.user_id, v.name, v.used from (
    select user_id, count(*) as documents, sum(bytes) as bytes from maas.knowledge_documents where user_id is not null
    group by user_id) d
  cross join lateral (values ('user_documents', d.documents), ('user_document_bytes', d.bytes)) v(name, used)
  union all
  select a.user_id, v.name, v.used from (
    select user_id, count(*) as images, sum(octet_length(content)) as bytes from maas.attachments group by user_id) a
  cross join lateral (values ('user_images', a.images), ('user_image_bytes', a.bytes)) v(name, used)
  union all
  select user_id, 'user_webhooks', count(*) from maas.webhook_endpoints
  where user_id is not null and task_id is null group by user_id
  union all
  select user_id, 'user_schedules', count(*) from maas.schedules group by user_id
  union all
  select t.user_id, 'user_memory_bytes', sum(t.bytes) from (
    select user_id, octet_length(content) + coalesce(pg_column_size(metadata), 0) as bytes from maas.raw_logs
    union all
    select user_id, octet_length(content) + coalesce(pg_column_size(tool_result), 0) from maas.chat_messages
    union all
    select user_id, octet_length(summary) from maas.lsm_storage where not is_provisional) t group by t.user_id
) u join (
  select e.key as name, coalesce(s.value, e.value::bigint) as quota
  from maas.engine_settings e left join maas.set_limits s on s.name = e.key where e.key like 'user\_%') l using (name);
comment on view maas.v_user_quotas is 'What each user has of each quota; reads whole tables';
