-- How much a user has waiting is asked at every POST, so it has an index of its own; no lane of the queue has one by user.

create index idx_pipeline_runs_unfinished on pipeline_runs (user_id) where lane < 2 and kind = 'ask';
