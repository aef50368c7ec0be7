-- Recorded requests on which operators try prompts.

create table maas.trial_sets (
  name varchar(100) primary key check (name ~ '[^ ]'),
  actor text not null,
  updated_at timestamptz not null default clock_timestamp()
);
comment on table maas.trial_sets is
  'Sets of recorded requests on which operators try prompts; maas_keep_trial_set writes them';
comment on column maas.trial_sets.actor is 'Who wrote it last';

create table maas.trial_set_runs (
  set_name varchar(100) not null references maas.trial_sets on delete cascade,
  run_id uuid not null references maas.pipeline_runs on delete cascade,
  place int not null,
  primary key (set_name, run_id)
);
comment on table maas.trial_set_runs is 'The requests of a set; one that is forgotten or erased leaves it';
create index idx_trial_set_runs_run_id on maas.trial_set_runs (run_id);
