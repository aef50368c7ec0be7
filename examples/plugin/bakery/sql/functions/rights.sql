create or replace function maas.bakery_table_rights() returns table (role_name text, privileges text, relations text[])
language sql immutable as $$
  values ('maas_worker', 'select, insert, update', array['bakery_orders']),
    ('maas_server', 'select', array['bakery_orders'])
$$;
comment on function maas.bakery_table_rights is 'What the roles of MaaS may do with the tables of the bakery';
