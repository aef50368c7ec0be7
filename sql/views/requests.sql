-- Requests as applications write and read them.

create view maas.run_requests with (security_invoker = true) as
select r.id, r.user_id, null::text as user_name, r.user_query, r.assistant, r.conversation_id, r.mode, r.is_remembered,
  r.metadata, r.idempotency_key, r.priority, r.run_at, r.debounce, r.attributes, r.status, r.final_answer,
  r.error_code, r.error_message, r.archive_status, r.memory, r.created_at, r.completed_at
from maas.pipeline_runs r where r.kind = 'ask';
comment on view maas.run_requests is
  'Where an application asks: insert user_id and user_query, read status and final_answer. Every column can be '
  'selected, and null in an insert means the default. Rights and row security are those of pipeline_runs';
comment on column maas.run_requests.id is
  'Of the application''s choice, or drawn; it is unique, and the same request with the same id is inserted once';
comment on column maas.run_requests.user_id is 'Null in an insert: the user of user_name, or of the session''s claims';
comment on column maas.run_requests.user_name is
  'For an insert in place of user_id, by logins that may call maas_user_id; it is not stored here and reads as null';
comment on column maas.run_requests.idempotency_key is
  'The same request with the same key is inserted once; keys of different users are different';
comment on column maas.run_requests.priority is '1 high, which users of claims may not take, 0 normal, -1 low';
comment on column maas.run_requests.debounce is
  'Seconds, at most 60: it waits for the next request of its conversation with one, whose text is then joined to it; '
  'both are answered together, and the insert returns the row of the first';
comment on column maas.run_requests.status is
  'COMPLETED: final_answer is there; FAILED: error_code and error_message say why; anything else: not finished';

create trigger insert_request instead of insert on maas.run_requests
  for each row execute function maas.insert_request();
-- The first refuses a statement whatever it finds, the second keeps Postgres from passing it on to pipeline_runs.
create trigger refuse_request_changes before update or delete on maas.run_requests
  for each statement execute function maas.refuse_request_change();
create trigger refuse_request_change instead of update or delete on maas.run_requests
  for each row execute function maas.refuse_request_change();
