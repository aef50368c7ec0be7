-- Responses of OpenAI's Responses API that clients may read again and continue.

create table maas.responses (
  run_id uuid primary key references maas.pipeline_runs on delete cascade,
  user_id uuid not null,
  previous_run_id uuid,
  request jsonb not null,
  input jsonb not null check (jsonb_typeof(input) = 'array'),
  response jsonb,
  created_at timestamptz not null default now()
);
comment on table maas.responses is
  'What clients of the Responses API have stored: the items that they sent, and the response; deleted with its run';
comment on column maas.responses.previous_run_id is 'The run of the response that this one continues';
comment on column maas.responses.request is
  'The fields of the request that a response repeats; with kept_by a provider keeps it, and its id alone is here';
comment on column maas.responses.response is 'Null while an assistant answers in the background';
create index idx_responses_kept on maas.responses ((response->>'id')) where request ? 'kept_by';
create index idx_responses_user_id on maas.responses (user_id, created_at);
