-- Model calls and their prices. What a call cost is fixed when it is written.

create table maas.llm_calls (
  run_id uuid not null references maas.pipeline_runs on delete cascade,
  try int not null,
  stage varchar(30) not null,
  round int not null,
  attempt int not null,
  provider varchar(50) not null,
  model text not null,
  role_name varchar(50) not null,
  prompt_version int,
  reply text,
  finish varchar(20) not null,
  attempts int not null default 1,
  tokens_in int not null default 0,
  tokens_out int not null default 0,
  ms real not null,
  error text,
  created_at timestamptz not null default now(),
  tokens_cached int not null default 0,
  price bigint,
  request_hash text,
  calls jsonb,
  parts jsonb,
  images int not null default 0,
  first_ms real,
  primary key (run_id, try, stage, round)
);
comment on table maas.llm_calls is 'Every model call of every stage, written in the transaction that uses its result';
comment on column maas.llm_calls.attempt is 'The claim of the run that made the call';
comment on column maas.llm_calls.attempts is 'Requests sent, retries included';
comment on column maas.llm_calls.tokens_cached is 'The part of tokens_in that the provider had cached';
comment on column maas.llm_calls.first_ms is
  'Milliseconds until the first piece of a streamed reply, of the last attempt; null: it was not streamed';
comment on column maas.llm_calls.images is 'Images that were generated';
comment on column maas.llm_calls.price is 'Micro-dollars; null when model_prices has no price';
comment on column maas.llm_calls.request_hash is 'SHA-256 of the request as sent';
comment on column maas.llm_calls.calls is 'Tool calls that the model asked for';
comment on column maas.llm_calls.parts is 'The provider''s own parts of the reply, to be sent back unchanged';

create table maas.token_usage (
  user_id uuid not null,
  day date not null,
  tokens bigint not null,
  price bigint not null,
  primary key (user_id, day)
);
comment on table maas.token_usage is
  'Tokens (in and out) and known prices (micro-dollars) of a user''s model calls per day in MAAS_TIMEZONE';

create table maas.user_budgets (
  user_id uuid primary key,
  daily_tokens bigint check (daily_tokens > 0),
  daily_dollars float8 check (daily_dollars > 0),
  actor text not null,
  updated_at timestamptz not null default clock_timestamp()
);
comment on table maas.user_budgets is
  'Budgets of a day that operators have set, instead of MAAS_USER_DAILY_TOKENS and MAAS_USER_DAILY_DOLLARS; '
  'maas_set_budget writes them, and they are in force at the next model call';
comment on column maas.user_budgets.user_id is
  'Whose budget it is; the UUID of zeros: of all users without one of their own';
comment on column maas.user_budgets.daily_tokens is 'Null: no limit';
comment on column maas.user_budgets.daily_dollars is 'Null: no limit';

create table maas.set_limits (
  name text primary key,
  value bigint not null,
  actor text not null,
  updated_at timestamptz not null default clock_timestamp()
);
comment on table maas.set_limits is
  'Quotas and rates of one user that operators have set, instead of the settings; maas_set_limit writes them. '
  'The database obeys them at once, servers within three seconds';
comment on column maas.set_limits.name is 'The setting in whose place it is: user_images for MAAS_USER_IMAGES';

create table maas.model_prices (
  provider varchar(50) not null,
  model text not null,
  input numeric not null check (input >= 0),
  cached numeric check (cached >= 0),
  output numeric not null check (output >= 0),
  image numeric check (image >= 0),
  updated_at timestamptz not null default now(),
  primary key (provider, model)
);
comment on table maas.model_prices is
  'Dollars per million tokens, and per generated image. A change does not affect calls that are already written. '
  'Check the prices against your provider';
comment on column maas.model_prices.model is 'A pattern for LIKE; the longest match applies';
comment on column maas.model_prices.image is 'Dollars per generated image; null: the price of an image is unknown';
comment on column maas.model_prices.cached is 'Price of input tokens that the provider had cached; null: as input';

insert into maas.model_prices (provider, model, input, cached, output) values
  ('extractive', '%', 0, 0, 0), ('local', '%', 0, 0, 0),
  ('ollama', '%', 0, 0, 0), ('lmstudio', '%', 0, 0, 0), ('llama', '%', 0, 0, 0), ('vllm', '%', 0, 0, 0),
  ('openai', 'gpt-4o%', 2.5, 1.25, 10), ('openai', 'gpt-4o-mini%', 0.15, 0.075, 0.6),
  ('openai', 'gpt-4.1%', 2, 0.5, 8), ('openai', 'gpt-4.1-mini%', 0.4, 0.1, 1.6),
  ('openai', 'gpt-4.1-nano%', 0.1, 0.025, 0.4),
  ('openai', 'gpt-5', 1.25, 0.125, 10), ('openai', 'gpt-5-20%', 1.25, 0.125, 10),
  ('openai', 'gpt-5-mini%', 0.25, 0.025, 2), ('openai', 'gpt-5-nano%', 0.05, 0.005, 0.4),
  ('openai', 'o3', 2, 0.5, 8), ('openai', 'o4-mini%', 1.1, 0.275, 4.4),
  ('openai', 'text-embedding-3-small%', 0.02, null, 0), ('openai', 'text-embedding-3-large%', 0.13, null, 0),
  ('gemini', 'gemini-2.5-pro%', 1.25, 0.125, 10), ('gemini', 'gemini-2.5-flash%', 0.3, 0.03, 2.5),
  ('gemini', 'gemini-2.5-flash-lite%', 0.1, 0.01, 0.4), ('gemini', 'gemini-2.0-flash%', 0.1, 0.025, 0.4),
  ('gemini', 'gemini-embedding-001%', 0.15, null, 0),
  ('anthropic', 'claude-opus-4-5%', 5, 0.5, 25), ('anthropic', 'claude-sonnet-4%', 3, 0.3, 15),
  ('anthropic', 'claude-haiku-4-5%', 1, 0.1, 5), ('anthropic', 'claude-3-5-haiku%', 0.8, 0.08, 4);

insert into maas.model_prices (provider, model, input, cached, output, image) values
  ('gemini', 'gemini-2.5-flash-image%', 0.3, null, 2.5, 0.039), ('gemini', 'gemini-3-pro-image%', 2, null, 12, 0.134),
  ('gemini', 'gemini-3.1-flash-image%', 0.5, null, 3, 0.067),
  ('openai', 'gpt-image-1%', 5, 1.25, 0, 0.042), ('openai', 'gpt-image-1-mini%', 2, 0.2, 0, 0.0085),
  ('openai', 'gpt-image-1.5%', 5, 1.25, 0, 0.034),
  ('openai', 'dall-e-3%', 0, null, 0, 0.04);

create table maas.model_limits (
  name text primary key,
  requests_until timestamptz not null default '-infinity',
  tokens_until timestamptz not null default '-infinity',
  blocked_until timestamptz not null default '-infinity'
) with (fillfactor = 50);
comment on table maas.model_limits is
  'What all processes together have asked of a model with limits, or of one that asked for a pause; a row for each '
  'model, server and key';
comment on column maas.model_limits.name is 'provider:model, and a hash of server and key';
comment on column maas.model_limits.requests_until is 'When the requests so far are within requests_per_minute';
comment on column maas.model_limits.tokens_until is 'When the tokens so far are within tokens_per_minute';
comment on column maas.model_limits.blocked_until is 'The provider answered 429 and wants no call before';
