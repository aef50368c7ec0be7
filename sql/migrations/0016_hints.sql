-- What a question for a time or a number is answered by is marked when a turn is written: a search asks a thousand turns
-- for one lexeme, not for eighty. No text has a lexeme that begins with '#'.
do $$
declare
  times constant text := '
    yesterday today tonight tomorrow last next ago week weekend month year day monday tuesday wednesday thursday friday
    saturday sunday january february march april june july august september october november december morning evening
    night recently since soon вчера сегодня завтра назад неделя недели неделю месяц месяца год года году лет день дня дней
    утром утра вечером вечера ночью недавно скоро январь января февраль февраля март марта апрель апреля май мая июнь июня
    июль июля август августа сентябрь сентября октябрь октября ноябрь ноября декабрь декабря понедельник вторник среда
    среду четверг пятница пятницу суббота субботу воскресенье прошлый прошлой прошлом следующий следующей';
  numbers constant text := '
    two three four five six seven eight nine ten twice dozen several couple hundred thousand один одна два две три четыре
    пять шесть семь восемь девять десять дважды двое трое несколько пара пару сто тысяча тысячи';
begin
  execute format($sql$
    create function maas_index(p_text text) returns tsvector language plpgsql immutable parallel safe as $body$
    declare
      said tsvector := maas_lexemes(p_text);
    begin
      return said || case when said @@ %L::tsquery then '''#time''' else '' end::tsvector
        || case when said @@ %L::tsquery then '''#number''' else '' end::tsvector;
    end $body$
  $sql$, maas_hints(times, '{19, 20}'), maas_hints(numbers, '{1, 2, 3, 4, 5, 6, 7, 8, 9}'));
end $$;
comment on function maas_index is 'The lexemes of a turn, with #time if it names a time, and #number if it holds a number';
drop function maas_hints;

alter table raw_logs drop column tsv;
alter table raw_logs add tsv tsvector generated always as (maas_index(content)) stored;
do $$
begin
  if exists (select from pg_extension where extname = 'btree_gin') then
    create index idx_raw_logs_search on raw_logs using gin (user_id, tsv) with (gin_pending_list_limit = 1024);
  end if;
end $$;
