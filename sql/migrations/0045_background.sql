-- What an alert looks at is there before it happens for the first time.
insert into engine_metrics (slot, name, labels, events)
select '-infinity', 'background_failures', jsonb_build_object('task', task), 0
from unnest(array['compactor', 'count_terms', 'embed', 'keep_tools', 'metrics', 'retention']) as task;
