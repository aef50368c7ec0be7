-- What the trial itself records in the database that it breaks.

create table public.chaos_requests (number int not null, mark text not null);
-- One row an acceptance: a repeated Idempotency-Key is accepted again.
create table public.chaos_accepted (number int not null, mark text not null, id uuid not null, way text not null,
  sent_at timestamptz not null, accepted_at timestamptz not null);
create table public.chaos_faults (at timestamptz not null, kind text not null, target text not null, pid int);
create table public.chaos_model_faults (at timestamptz not null, kind text not null, model text not null, mark text);
create table public.chaos_replies (way text not null, outcome text not null, times int not null);
create table public.chaos_problems (process text not null, problem text not null);
create table public.chaos_errors (stage text not null, event text not null, cause text not null);
create table public.chaos_pauses (began_at timestamptz not null, ended_at timestamptz not null);
-- Of the model that has a limit a minute.
create table public.chaos_calls (at timestamptz not null);
create table public.chaos_engines (
  owner int not null, pid int not null, at timestamptz not null default clock_timestamp());

-- It fires inside a function of MaaS, whose search path is its own.
create function public.chaos_note_engine() returns trigger language plpgsql as $$
begin
  insert into public.chaos_engines (owner, pid) values (new.owner, new.pid);
  return null;
end $$;
create trigger chaos_note_engine after insert on maas.engines for each row execute function public.chaos_note_engine();

-- The other application: it may insert and read, and nothing else.
grant maas_app to chaos_application;
