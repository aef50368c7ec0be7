-- Postgres' text search parser looks ahead for addresses, numbers and comments, again at each sign of a run that is none:
-- its time is quadratic in the length of what stands without a space, and in the number of comments that do not end.
-- Runs of more than 100 characters are broken there, in words and questions alike; a comment is read like any words.

create or replace function maas_lexemes(p_text text) returns tsvector language sql immutable parallel safe as $$
  select strip(to_tsvector('russian', regexp_replace(replace(translate(left(p_text, 200000), 'ёЁ’', 'еЕ'''), '<!--', '<--'),
    '[^\s\u2010-\u205e\u3000-\u303f\uff01-\uff0f\uff1a-\uff20]{100}', '\& ', 'g')))
$$;
comment on function maas_lexemes is
  'Cyrillic words by the Russian stemmer, Latin ones by the English, without positions; the first 200,000 characters, runs broken at 100';

-- A generated column is made anew where the column it is made of is written.
update raw_logs set content = content where content ~ '[^\s\u2010-\u205e\u3000-\u303f\uff01-\uff0f\uff1a-\uff20]{101}' or content like '%<!--%';
update lsm_storage set summary = summary where summary ~ '[^\s\u2010-\u205e\u3000-\u303f\uff01-\uff0f\uff1a-\uff20]{101}' or summary like '%<!--%';

do $$ begin perform maas_grant_rights(); end $$;
