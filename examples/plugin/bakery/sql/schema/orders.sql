create table maas.bakery_orders (
  run_id uuid not null references maas.pipeline_runs on delete cascade,
  user_id uuid not null,
  item text not null,
  pieces int not null check (pieces between 1 and 100),
  created_at timestamptz not null default now(),
  primary key (run_id, item)
);
comment on table maas.bakery_orders is 'What users have ordered, one thing a row';
