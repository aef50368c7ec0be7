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
