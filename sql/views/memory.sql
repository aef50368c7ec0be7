-- Memory.

create view maas.v_user_memory as
select l.user_id, l.id, l.level, maas.maas_period(l.time_bucket_end, l.level) as period, l.time_bucket_start,
  l.time_bucket_end, l.tags, l.summary, cardinality(l.raw_log_ids) as logs, l.raw_log_ids, l.is_degraded,
  l.occurred_at, l.created_at
from maas.lsm_storage l where not l.is_provisional and l.superseded_at is null;
comment on view maas.v_user_memory is 'The summaries that are valid now';

create view maas.v_left_out_days as
select c.user_id, c.record_id, c.level, maas.maas_period(l.time_bucket_end, l.level) as period, c.days, c.left_out,
  c.provider || ':' || c.model as model, c.prompt_version, c.created_at
from maas.compactions c join maas.lsm_storage l on l.id = c.record_id and l.user_id = c.user_id
where c.left_out <> '{}';
comment on view maas.v_left_out_days is
  'Merged summaries of which a model left out days or wrote something else: '
  'these days have the text that rules made of them';

create view maas.v_facts as
select u.user_id, f.id, f.subject, f.statement, f.state, f.since, f.kind, f.attribute, f.said_by, f.said_at,
  f.last_said_at, f.true_from, f.true_until, f.is_pinned, f.origin, f.replaces, f.replaced_by, f.raw_log_ids
from (select distinct user_id from maas.facts) u cross join lateral maas.maas_facts(u.user_id) f;
comment on view maas.v_facts is 'What is true of each user, and what was';

create view maas.memories with (security_invoker = true) as
select l.user_id, l.id, coalesce(k.content, l.content) as memory, l.speaker, l.conversation,
  case when jsonb_typeof(c.client->'agent_id') = 'string' then c.client->>'agent_id' end as agent_id,
  case when jsonb_typeof(c.client->'app_id') = 'string' then c.client->>'app_id' end as app_id,
  case when jsonb_typeof(c.client->'run_id') = 'string' then c.client->>'run_id' end as run_id,
  case when jsonb_typeof(c.client->'metadata') = 'object' then c.client->'metadata' end as metadata,
  coalesce((select s.tags from maas.lsm_storage s where s.id = l.record_id and s.user_id = l.user_id), '{}')
    as categories,
  l.occurred_at as created_at, coalesce(k.occurred_at, l.occurred_at) as updated_at
from maas.raw_logs l
cross join lateral (select l.metadata->'client' as client) c
left join lateral (
  select v.content, v.occurred_at from maas.memory_corrections m
  join maas.raw_logs v on v.id = m.id and v.user_id = m.user_id
  where m.user_id = l.user_id and m.root_id = l.id order by m.created_at desc, m.id desc limit 1) k on true
where l.message_type = 'user_query' and l.is_remembered and not exists (
  select from maas.memory_corrections m join maas.raw_logs r on r.id = m.root_id and r.user_id = m.user_id
  where m.id = l.id and m.user_id = l.user_id);
comment on view maas.memories is
  'What each user has said and is remembered, one row a message, as its newest correction reads; applications filter '
  'it by any condition. Rights and row security are those of raw_logs';
comment on column maas.memories.id is 'That of the message, also when it was corrected';
comment on column maas.memories.memory is 'The text of the newest correction, else what was said';
comment on column maas.memories.run_id is 'The session that a client of mem0''s API named, no run of MaaS';
comment on column maas.memories.metadata is 'What a client added; null without';
comment on column maas.memories.categories is 'The tags of the summary that it is in; empty until that is written';
comment on column maas.memories.created_at is 'When it was said';
comment on column maas.memories.updated_at is 'When it was corrected last';
