-- Nobody read when the words of a user were counted. What nothing fills but others know by name stays: the columns of telegram and
-- accounts in chat_conversations, of tool rounds in chat_messages, and assistant_sessions.current_step. No door shows them.
alter table counted_users drop column counted_at;
