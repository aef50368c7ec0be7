-- Functions that stored data depends on: generated columns, indexes. A change needs a migration that writes the data
-- again. In PL/pgSQL, because a function in SQL of a generated column is parsed again by every statement that writes
-- the column.
--
-- The text search parser of Postgres looks ahead for addresses, numbers and comments, again at each sign: its time is
-- quadratic in the length of text without spaces. So words of more than 100 characters are broken, in messages and
-- questions alike. No text has a lexeme that begins with '#': #time and #number mark messages that can answer questions
-- for a time or a number.

-- The parser also refuses more than 1 MB of lexemes and positions at once, so a long text is read in pieces.

create function maas.maas_long_lexemes(p_text text) returns tsvector language plpgsql immutable parallel safe as $$
declare
  lexemes tsvector := '';
  more tsvector;
  piece text;
  start int := 1;
begin
  while start <= length(p_text) loop
    piece := substr(p_text, start, 100000);
    if start + 100000 <= length(p_text) then
      -- end at a space
      piece := left(piece, 100000 - coalesce(length(substring(right(piece, 1000) from '\s(\S+)$')), 0));
    end if;
    more := maas.maas_lexemes(piece);
    exit when pg_column_size(lexemes) + pg_column_size(more) > 1000000;  -- what a tsvector can hold
    lexemes := lexemes || more;
    start := start + length(piece);
  end loop;
  return lexemes;
end
$$;
comment on function maas.maas_long_lexemes is
  'Lexemes of a long text, read in pieces that end at white space. '
  'Stops at 1 MB of different lexemes, the most that Postgres holds';

create function maas.maas_lexemes(p_text text) returns tsvector language plpgsql immutable parallel safe as $$
begin
  if length(p_text) > 200000 then
    return maas.maas_long_lexemes(p_text);
  end if;
  return strip(to_tsvector('russian', regexp_replace(replace(translate(p_text, 'ёЁ’', 'еЕ'''), '<!--', '<--'),
    '[^\s\u2010-\u205e\u3000-\u303f\uff01-\uff0f\uff1a-\uff20]{100}', '\& ', 'g')));
end
$$;
comment on function maas.maas_lexemes is
  'Lexemes without positions: Russian stemmer for Cyrillic, English for Latin. Breaks words at 100 characters';

create function maas.maas_index_text(p_text text) returns tsvector language plpgsql immutable parallel safe as $$
declare
  lexemes tsvector := maas.maas_lexemes(p_text);
begin
  return lexemes || case when lexemes @@
      '''ago'' | ''april'' | ''august'' | ''day'' | ''decemb'' | ''even'' | ''februari'' | ''friday'' | ''januari'' | '
      '''juli'' | ''june'' | ''last'' | ''march'' | ''monday'' | ''month'' | ''morn'' | ''next'' | ''night'' | '
      '''novemb'' | ''octob'' | ''recent'' | ''saturday'' | ''septemb'' | ''sinc'' | ''soon'' | ''sunday'' | '
      '''thursday'' | ''today'' | ''tomorrow'' | ''tonight'' | ''tuesday'' | ''wednesday'' | ''week'' | ''weekend'' | '
      '''year'' | ''yesterday'' | ''август'' | ''апрел'' | ''вечер'' | ''воскресен'' | ''вторник'' | ''вчер'' | '
      '''год'' | ''декабр'' | ''ден'' | ''дне'' | ''дня'' | ''завтр'' | ''июл'' | ''июн'' | ''лет'' | ''ма'' | '
      '''март'' | ''месяц'' | ''назад'' | ''недавн'' | ''недел'' | ''ноч'' | ''ноябр'' | ''октябр'' | '
      '''понедельник'' | ''прошл'' | ''пятниц'' | ''сегодн'' | ''сентябр'' | ''скор'' | ''след'' | ''сред'' | '
      '''суббот'' | ''утр'' | ''феврал'' | ''четверг'' | ''январ'' | ''19'':* | ''20'':*'::tsquery
    then '''#time''' else '' end::tsvector
    || case when lexemes @@
      '''coupl'' | ''dozen'' | ''eight'' | ''five'' | ''four'' | ''hundr'' | ''nine'' | ''seven'' | ''sever'' | '
      '''six'' | ''ten'' | ''thousand'' | ''three'' | ''twice'' | ''two'' | ''восем'' | ''дважд'' | ''две'' | '
      '''дво'' | ''девя'' | ''деся'' | ''нескольк'' | ''одн'' | ''пар'' | ''пят'' | ''сем'' | ''сто'' | ''тро'' | '
      '''тысяч'' | ''четыр'' | ''шест'' | ''1'':* | ''2'':* | ''3'':* | ''4'':* | ''5'':* | ''6'':* | ''7'':* | '
      '''8'':* | ''9'':*'::tsquery
    then '''#number''' else '' end::tsvector;
end
$$;
comment on function maas.maas_index_text is
  'The lexemes of a message, plus #time if it names a time and #number if it contains a number';

create function maas.maas_text_flags(p_text text) returns smallint language plpgsql immutable parallel safe as $$
begin
  return ((position('?' in p_text) > 0)::int
    + (right(rtrim(left(p_text, 200000), E' \n\r\t'), 1) = '?')::int
    + case when left(p_text, 1000) ~
      ('\m([Ii]|[Mm]y|[Mm]e|[Mm]ine|[Mm]yself|[Яя]|[Мм]не|[Мм]еня|[Мм]ной|'
        '[Мм]о([йяеёию]|его|ей|ему|ём|их|им|ими))\M')
      then 4 else 0 end)::smallint;
end
$$;
comment on function maas.maas_text_flags is
  '2 if the text ends with a question mark, 1 if it contains one, else 0; plus 4 if its beginning says I or my';

create function maas.maas_note_key(p_words text) returns text language sql immutable as $$
  select md5(lower(rtrim(p_words, ' .!?…')))
$$;
comment on function maas.maas_note_key is
  'A hash that is equal for notes that differ only in case and final punctuation';
