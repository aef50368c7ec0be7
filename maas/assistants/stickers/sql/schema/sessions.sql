-- The values of a sticker under their own names.

alter table maas.assistant_sessions
  add column style text generated always as ((slots ->> 'style')) stored,
  add column emotion text generated always as ((slots ->> 'emotion')) stored,
  add column pose text generated always as ((slots ->> 'pose')) stored;
comment on column maas.assistant_sessions.style is 'Of stickers: generated from slots, as emotion and pose are';
