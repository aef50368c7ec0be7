-- Assistants and prompts. Every stage uses them as they are when it begins, or later: an UPDATE there is a deployment.

create table maas.assistants (
  name varchar(50) primary key,
  role_name varchar(50) not null,
  definition jsonb not null default '{}',
  is_active boolean not null default true,
  inactive_reason text,
  plugin varchar(50),
  updated_at timestamptz not null default now(),
  constraint definition_exceeds_100_levels
    check (not definition @? 'strict $.**{100} ? (@.type() == "object" || @.type() == "array")')
);
comment on table maas.assistants is
  'The assistants that requests may name; role_name is the row of system_prompts with the role text';
comment on column maas.assistants.inactive_reason is
  'Why an orchestrator has switched a built-in assistant off: what is not configured; null if an operator did';

comment on column maas.assistants.plugin is 'The plugin that defines it; null for rows of operators, and for mentor';

insert into maas.assistants (name, role_name) values ('mentor', 'Mentor');

create table maas.system_prompts (
  role_name varchar(50) primary key,
  prompt_template text not null,
  is_active boolean not null default true,
  version int not null default 1,
  updated_at timestamptz not null default now()
);
comment on table maas.system_prompts is 'The prompt of each role; triggers number the versions and keep the history';

create table maas.system_prompts_history (
  role_name varchar(50) not null,
  version int not null,
  prompt_template text not null,
  is_active boolean not null,
  valid_from timestamptz not null,
  valid_until timestamptz not null default now(),
  primary key (role_name, version)
);
comment on table maas.system_prompts_history is 'Former versions of system_prompts';
