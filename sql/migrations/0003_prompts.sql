-- Prompts are rows. A stage reads its prompt each time it runs, so an UPDATE needs no restart; every earlier text is kept.

create table system_prompts (
  role_name varchar(50) primary key,
  prompt_template text not null,
  is_active boolean not null default true,
  version integer not null default 1,
  updated_at timestamptz not null default now()
);
comment on table system_prompts is 'The text of each role; version and history are kept by trigger';

create table system_prompts_history (
  role_name varchar(50) not null,
  version integer not null,
  prompt_template text not null,
  is_active boolean not null,
  valid_from timestamptz not null,
  valid_until timestamptz not null default now(),
  primary key (role_name, version)
);

create function keep_prompt_version() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into system_prompts_history (role_name, version, prompt_template, is_active, valid_from)
  values (old.role_name, old.version, old.prompt_template, old.is_active, old.updated_at);
  if tg_op = 'DELETE' then
    return old;
  end if;
  new.version := old.version + 1;
  new.updated_at := clock_timestamp();
  return new;
end $$;
create trigger keep_prompt_version before update or delete on system_prompts for each row execute function keep_prompt_version();

create function number_prompt_version() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  new.version := greatest(new.version, coalesce(
    (select max(h.version) + 1 from system_prompts_history h where h.role_name = new.role_name), 1));
  return new;
end $$;
comment on function number_prompt_version is 'A role that was deleted and comes back goes on counting';
create trigger number_prompt_version before insert on system_prompts for each row execute function number_prompt_version();

create table llm_calls (
  run_id uuid not null references pipeline_runs on delete cascade,
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
  primary key (run_id, try, stage, round)
);
comment on table llm_calls is 'Each model call of each stage, written in the transaction that uses its result';
comment on column llm_calls.attempt is 'The claim of the run that made the call';
comment on column llm_calls.attempts is 'Requests that went out, repeats included';

create function maas_add_calls(p_calls jsonb) returns void language sql as $$
  insert into llm_calls (run_id, try, stage, round, attempt, provider, model, role_name, prompt_version,
    reply, finish, attempts, tokens_in, tokens_out, ms, error)
  select c.run_id, r.try, c.stage, c.round, r.attempt, c.provider, c.model, c.role_name, c.prompt_version,
    c.reply, c.finish, c.attempts, c.tokens_in, c.tokens_out, c.ms, c.error
  from jsonb_to_recordset(p_calls) as c(run_id uuid, attempt int, stage text, round int, provider text, model text,
    role_name text, prompt_version int, reply text, finish text, attempts int, tokens_in int, tokens_out int, ms real, error text)
  join pipeline_runs r on r.id = c.run_id and r.attempt = c.attempt
  on conflict (run_id, try, stage, round) do update set attempt = excluded.attempt, reply = excluded.reply,
    finish = excluded.finish, attempts = llm_calls.attempts + excluded.attempts, ms = excluded.ms, error = excluded.error
$$;
comment on function maas_add_calls is 'Writes model calls of runs that are still the caller''s';
