"""A note as a row, without the request that asks for it."""

ADD_NOTE = """
  insert into facts (
    user_id, statement, subject, attribute, kind, said_by, said_at, known_at, raw_log_ids, run_id, origin)
  select n.user_id, n.words, 'user', 'note:' || n.run_id, 'note', 'user', now(), now(), '{}', n.run_id, 'person'
  from (select %s::uuid as user_id, %s as words, %s::uuid as run_id) n"""  # user, words, run
