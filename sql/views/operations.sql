-- For operators.

create view maas.v_audit as
select at, actor, action, user_id, subject, details from maas.audit order by id desc;
comment on view maas.v_audit is 'The audit, newest first';

create view maas.v_keys with (security_invoker = true) as
select id, name, scopes, user_id, prefix, per_minute, created_at, expires_at, last_used_at,
  case when revoked_at is not null then 'revoked' when expires_at <= maas.maas_now() then 'expired' else 'active' end as state
from maas.api_keys;
comment on view maas.v_keys is 'API keys without their hashes, and whether each is active, expired or revoked';

create view maas.v_embedding as
select f.model, f.turns as embedded, f.refused, b.waiting, b.is_estimate, f.tokens, f.leased_until > now() as is_running
from (select * from maas.embedding_fills order by leased_until desc limit 1) f left join lateral maas.maas_embedding_backlog(f.model) b on true;
comment on view maas.v_embedding is
  'The embedding model in use: messages that have a vector, that it refused, that wait; whether an orchestrator works on them';
