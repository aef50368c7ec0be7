-- Advertising: what triggers derive from messages and leads, and accounts.

create or replace function maas.maas_jid_number(p_jid text) returns text language sql immutable as $$
  select split_part(split_part(p_jid, '@', 1), ':', 1) where p_jid not like '%@lid'
$$;
comment on function maas.maas_jid_number is
  'The phone number in an address of WhatsApp; null for one of the kind lid, whose digits are no number';

create or replace function maas.maas_count_dialogs(p_account uuid, p_jids text[]) returns void language sql
set search_path = pg_catalog, pg_temp as $$
  with before as (
    select c.lead_id from maas.whatsapp_chats c
    where c.user_account_id = p_account and c.jid = any(p_jids) and c.lead_id is not null
  ), counted as (
    select m.user_id, m.chat_jid, coalesce(maas.maas_jid_number(m.chat_jid), (
        select c.number from maas.whatsapp_chats c
        where c.user_account_id = p_account and c.jid = m.chat_jid)) as number,
      count(*) filter (where m.direction = 'in') as messages_in,
      count(*) filter (where m.direction = 'out') as messages_out, max(m.sent_at) as last_message_at,
      min(m.sent_at) - interval '7 days' as begun_at
    from maas.whatsapp_messages m where m.user_account_id = p_account and m.chat_jid = any(p_jids)
    group by m.user_id, m.chat_jid
  ), written as (
    insert into maas.whatsapp_chats as c (
      user_id, user_account_id, jid, number, lead_id, messages_in, messages_out, last_message_at)
    select user_id, p_account, chat_jid, number, coalesce(
        (select m.lead_id from maas.whatsapp_messages m
         where m.user_account_id = p_account and m.chat_jid = counted.chat_jid and m.lead_id is not null
         order by m.sent_at desc limit 1),
        (select l.id from maas.leads l
         where l.user_account_id = p_account and (l.phone_digits = counted.number
           or l.more_numbers @> array[counted.number] and l.more_numbers <> '{}')
         order by l.created_at < counted.begun_at, case when l.created_at >= counted.begun_at then l.created_at end,
           l.created_at desc limit 1)),
      messages_in, messages_out, last_message_at from counted
    on conflict (user_account_id, jid) do update set lead_id = coalesce(excluded.lead_id, c.lead_id),
      number = excluded.number, messages_in = excluded.messages_in, messages_out = excluded.messages_out,
      last_message_at = excluded.last_message_at
    returning c.jid, c.lead_id, c.messages_in, c.last_message_at
  ), of_leads as (  -- the rows just written, and other dialogues of the same leads as they were
    select lead_id, sum(messages_in)::int as messages_in, max(last_message_at) as last_message_at from (
      select lead_id, messages_in, last_message_at from written where lead_id is not null
      union all
      select lead_id, 0, null from before  -- a lead that has lost its dialogue to another one
      union all
      select c.lead_id, c.messages_in, c.last_message_at from maas.whatsapp_chats c
      where c.lead_id in (select lead_id from written union all select lead_id from before)
        and (c.user_account_id, c.jid) not in (select p_account, jid from written)) d
    group by lead_id
  )
  update maas.leads l set messages_in = o.messages_in, last_message_at = o.last_message_at from of_leads o
  where l.id = o.lead_id and (l.messages_in, l.last_message_at) is distinct from (o.messages_in, o.last_message_at)
$$;
comment on function maas.maas_count_dialogs is
  'Writes whatsapp_chats of these dialogues, and the message counts of their leads, from the messages';

create or replace function maas.maas_on_whatsapp_messages() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform maas.maas_count_dialogs(w.user_account_id, w.jids)
  from (select user_account_id, array_agg(distinct chat_jid) as jids from written group by user_account_id) w;
  return null;
end
$$;
comment on function maas.maas_on_whatsapp_messages is 'Trigger: the dialogues of the messages that were written';

create or replace trigger whatsapp_messages_inserted after insert on maas.whatsapp_messages
  referencing new table as written for each statement execute function maas.maas_on_whatsapp_messages();
create or replace trigger whatsapp_messages_updated after update on maas.whatsapp_messages
  referencing new table as written for each statement execute function maas.maas_on_whatsapp_messages();

create or replace function maas.maas_on_lead_phone() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform maas.maas_count_dialogs(new.user_account_id, array_agg(c.jid)) from maas.whatsapp_chats c
  where c.user_account_id = new.user_account_id and c.number = any(new.phone_digits || new.more_numbers)
  having count(*) > 0;
  return null;
end
$$;
comment on function maas.maas_on_lead_phone is
  'Trigger: the dialogues with the numbers of a lead that came later than its messages';

create or replace trigger leads_inserted after insert on maas.leads
  for each row when (new.phone is not null) execute function maas.maas_on_lead_phone();
create or replace trigger leads_phone_updated after update of phone, more_numbers on maas.leads
  for each row when ((new.phone, new.more_numbers) is distinct from (old.phone, old.more_numbers))
  execute function maas.maas_on_lead_phone();

create or replace function maas.maas_forget_crm_leads(p_user uuid, p_account uuid, p_ids text[]) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  jids text[];
  kept bigint;
  deleted bigint;
begin
  select array_agg(c.jid) into jids
  from maas.leads l join maas.whatsapp_chats c on c.user_account_id = p_account and c.lead_id = l.id
  where l.user_id = p_user and l.user_account_id = p_account and l.crm_lead_id = any(p_ids) and l.fb_lead_id is null;
  update maas.leads set crm_lead_id = null, pipeline_id = null, stage_id = null, revenue = 0, is_qualified = false,
    reached_key_stage = false, utm_marks = '{}', updated_at = now()
  where user_id = p_user and user_account_id = p_account and crm_lead_id = any(p_ids) and fb_lead_id is not null;
  get diagnostics kept = row_count;
  delete from maas.leads where user_id = p_user and user_account_id = p_account and crm_lead_id = any(p_ids);
  get diagnostics deleted = row_count;
  if jids is not null then
    perform maas.maas_count_dialogs(p_account, jids);
  end if;
  return kept + deleted;
end
$$;
comment on function maas.maas_forget_crm_leads is
  'Deletes leads that the CRM has deleted, and counts their dialogues anew; who filled in a form is a lead still. '
  'Returns how many there were';

create or replace function maas.maas_set_specs(p_user uuid, p_specs jsonb, p_actor text default null) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  changed int;
begin
  if p_user is null or jsonb_typeof(p_specs) is distinct from 'object' then
    raise invalid_parameter_value using message = 'preferences must be a JSON object of a user';
  elsif (select count(*) from jsonb_object_keys(p_specs)) > 100 then
    raise program_limit_exceeded using message = 'a user has at most 100 preferences';
  end if;
  with written as (
    insert into maas.user_specs as s (user_id, key, value) select p_user, key, value from jsonb_each_text(p_specs)
    on conflict (user_id, key) do update set value = excluded.value, updated_at = now() where s.value <> excluded.value
    returning 1
  ), deleted as (
    delete from maas.user_specs where user_id = p_user and not p_specs ? key returning 1
  )
  select (select count(*) from written) + (select count(*) from deleted) into changed;
  if changed > 0 then
    perform maas.maas_write_audit(
      'specs', p_user, null, jsonb_build_object('keys', array(select jsonb_object_keys(p_specs))), p_actor);
  end if;
end
$$;
comment on function maas.maas_set_specs is
  'Replaces the preferences of a user and writes the audit, without their values';

create or replace function maas.maas_is_qualifying(p_user uuid, p_account uuid, p_pipeline text, p_stage text)
returns boolean language sql stable as $$
  select p_stage = '142' or p_stage <> '143' and exists (
    select from maas.crm_stages s join maas.crm_stages q
      on q.user_account_id = s.user_account_id and q.pipeline_id = s.pipeline_id and q.place <= s.place
    where q.is_qualifying and s.user_id = p_user and s.user_account_id = p_account and s.pipeline_id = p_pipeline
      and s.stage_id = p_stage)
$$;
comment on function maas.maas_is_qualifying is
  'Whether a lead in this stage of the CRM is qualified: sold (142), or in a chosen or later one and not lost (143)';

create or replace function maas.maas_temperature(p_stored text, p_messages int, p_last_message_at timestamptz)
returns text language sql stable as $$
  select case
    when lower(p_stored) in ('hot', 'warm', 'cold') then lower(p_stored)
    when p_messages >= 4 and p_last_message_at > maas.maas_now() - interval '24 hours' then 'hot'
    when p_messages >= 2 or p_last_message_at > maas.maas_now() - interval '7 days' then 'warm'
    else 'cold' end
$$;
comment on function maas.maas_temperature is
  'How warm a lead is: as an analysis said, else by the messages that it wrote and how long ago the last one was';
