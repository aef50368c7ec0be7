-- What a client of OpenAI's protocol sends along with a question: its system text, and messages from before that MaaS does
-- not have. An answer is made with it; nothing of it is logged, recorded, searched or exported. It goes with its run.

alter table pipeline_runs add client_context jsonb
  constraint client_context_exceeds_512_kib check (octet_length(client_context::text) <= 524288);
comment on column pipeline_runs.client_context is
  'What the client sent along: {system, messages: [{role, content}]}, read by the Draft Builder. It is no word of the user';

-- The server may set it; its rights are listed in a function that other migrations replace, too, so it is changed as it stands.
do $$
begin
  execute replace(pg_get_functiondef('maas_rights()'::regprocedure),
    $q$asked || ', source, caller, idempotency_key)'$q$, $q$asked || ', source, caller, idempotency_key, client_context)'$q$);
end $$;
do $$ begin perform maas_grant_rights(); end $$;
