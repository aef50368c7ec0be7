-- Memory.

create view maas.v_user_memory as
select l.user_id, l.id, l.level, maas.maas_period(l.time_bucket_end, l.level) as period, l.time_bucket_start, l.time_bucket_end, l.tags, l.summary,
  cardinality(l.raw_log_ids) as logs, l.raw_log_ids, l.is_degraded, l.occurred_at, l.created_at
from maas.lsm_storage l where not l.is_provisional and l.superseded_at is null;
comment on view maas.v_user_memory is 'The summaries that are valid now';
