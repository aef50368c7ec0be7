-- Tables that `maas load` may fill.

create table maas.loadable_tables (
  name name primary key,
  columns name[] not null check (cardinality(columns) > 0)
);
comment on table maas.loadable_tables is
  'Tables that are open for loading by maas_load; an assistant opens its table with one insert. Holds no user data';
comment on column maas.loadable_tables.name is 'A table of the schema maas with a primary key and a column user_id';
comment on column maas.loadable_tables.columns is
  'The columns that may be loaded, those of the primary key among them; user_id need not be named';
