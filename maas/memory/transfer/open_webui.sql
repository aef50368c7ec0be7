-- What is read of webui.db, a database of SQLite, as Open WebUI's own export has it.

-- name: owners
select distinct c.user_id, u.email from chat c left join user u on u.id = c.user_id

-- name: chats  -- ? whose
select id, user_id, title, chat, created_at from chat where user_id = ? order by created_at, id

-- name: memories  -- ? whose
select id, user_id, content, created_at, updated_at from memory where user_id = ? order by created_at, id
