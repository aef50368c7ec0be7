-- What our programs may do with the tables and functions of advertising. No client reaches them.

create or replace function maas.ads_table_rights() returns table (role_name text, privileges text, relations text[])
language sql immutable as $$
  values
    ('maas_worker', 'select, insert, update',
      array['user_accounts', 'ad_accounts', 'campaigns', 'adsets', 'ads', 'directions', 'user_creatives',
        'creative_analysis', 'creative_scores', 'creative_tests', 'creative_metrics_history', 'ad_creative_mapping',
        'direction_metrics_daily', 'adset_metrics_history', 'crm_integration', 'crm_stages', 'leads',
        'whatsapp_integration', 'whatsapp_chats', 'whatsapp_messages', 'dialog_summaries', 'whatsapp_sends',
        'ads_syncs']),
    ('maas_worker', 'select', array['user_specs', 'brain_actions', 'v_ads_connections']),
    ('maas_server', 'select', array['user_accounts', 'ad_accounts', 'user_specs'])
$$;
comment on function maas.ads_table_rights is 'What each role may do with the tables of advertising';

create or replace function maas.ads_function_rights()
returns table (role_name text, functions text[]) language sql immutable as $$
  values
    ('maas_server', array['maas_set_specs', 'maas_connect_ads', 'maas_ads_connections', 'maas_want_ads_syncs',
      'maas_set_ads_token']),
    ('maas_worker', array['maas_temperature', 'maas_phone_number', 'maas_jid_number', 'maas_is_qualifying',
      'maas_ads_sync_due', 'maas_claim_ads_sync', 'maas_forget_crm_leads'])
$$;
comment on function maas.ads_function_rights is 'Which role may execute the functions of advertising';
