-- What our programs may do with the tables and functions of Telegram. No client reaches them.

create or replace function maas.telegram_table_rights()
returns table (role_name text, privileges text, relations text[]) language sql immutable as $$
  values
    ('maas_ops', 'select', array['v_telegram']),
    ('maas_server', 'select',
      array['telegram_bots', 'telegram_updates', 'telegram_replies', 'telegram_messages', 'v_telegram'])
$$;
comment on function maas.telegram_table_rights is 'What each role may do with the tables of Telegram';

create or replace function maas.telegram_function_rights()
returns table (role_name text, functions text[]) language sql immutable as $$
  values (
    'maas_server', array['maas_telegram_open', 'maas_telegram_take', 'maas_telegram_handled', 'maas_telegram_fail',
      'maas_telegram_ask', 'maas_telegram_hold', 'maas_telegram_start', 'maas_telegram_notice', 'maas_telegram_follow',
      'maas_telegram_tasks', 'maas_telegram_place', 'maas_telegram_set_message', 'maas_telegram_end',
      'maas_telegram_delay', 'maas_telegram_report', 'maas_telegram_clean'])
$$;
comment on function maas.telegram_function_rights is 'Which role may execute the functions of Telegram';
