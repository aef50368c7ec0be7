"""Whatever takes an id says here what binds it to a user; a function or a query that is new and says nothing fails.

`USER`: it takes the user, too, and reaches no row of another. `NAME`: so does this, with a name that Telegram gives.
`ROUTE`: it takes the id alone, and the server asks first whose it is (`admit`, `owner_of_*`). `CLAIM`: the orchestrator
alone, with a run that it has claimed; whose rows it reaches, the run says. `VIEW`: as `USER`, and operators reach the
rows of all users by a view that calls it. `INSIDE`: nobody but the owner may call it.
`ROW`: a trigger; the row that fires it says whose rows it reaches. `ALL`: it is for the rows of all users, and tells or
changes what is nobody's alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import psycopg
import pytest
from psycopg.rows import DictRow

from maas.http.route import RESOURCES
from maas.http.routes import all_routes
from maas.named_queries import query_texts
from tests.sql.attempts import ROLES, values

Connection = psycopg.Connection[DictRow]
IDS = {"uuid", "uuid[]", "jsonb", "jsonb[]"}  # JSON may hold some
USER, NAME, ROUTE, CLAIM, INSIDE, ROW, ALL = "user", "name", "route", "claim", "inside", "row", "all"
VIEW, CLAIMS, SESSION = "view", "claims", "session"

FUNCTIONS: Mapping[str, tuple[str, str]] = {
    "maas_compact": (USER, "children, their words and the new record are those of p_user"),
    "maas_correct_fact": (USER, "the fact is p_user's, and so are the new message and fact"),
    "maas_decide_fact": (USER, "the fact is p_user's"),
    "maas_merge_fact_names": (USER, "names and facts of p_user"),
    "maas_facts": (VIEW, "facts, decisions and names of p_user; v_facts"),
    "maas_find_facts": (USER, "facts of p_user"),
    "maas_delete_entered_fact": (INSIDE, "maas_delete_logs: facts of the user"),
    "maas_recorded_in": (INSIDE, "maas_forget_words: messages of the user"),
    "maas_blank_runs": (INSIDE, "maas_forget_words: runs of the user"),
    "maas_delete_facts": (INSIDE, "maas_delete_logs: facts of the user"),
    "maas_rebuild_facts": (USER, "facts that go are p_user's, and so are the messages of those that come"),
    "maas_write_facts": (INSIDE, "maas_write_records: messages of the item's user"),
    "maas_correct": (USER, "the memory is p_user's, and so is the new message"),
    "maas_corrections": (USER, "corrections and messages of p_user"),
    "maas_count_terms": (USER, "counts the words of p_user"),
    "maas_chat_conversation": (USER, "the conversation is p_user's"),
    "maas_create_conversation": (USER, "the conversation and its opening are p_user's"),
    "maas_decide_action": (USER, "the action and the run that asked for it are p_user's"),
    "maas_edit_action": (USER, "the action is p_user's"),
    "maas_resume_erasure": (USER, "a user whose erasing has begun; p_user, if given"),
    "maas_erase": (USER, "every table by user_id, or by runs of p_user"),
    "maas_add_usage": (USER, "counts for p_user"),
    "maas_bucket_records": (USER, "records of p_user"),
    "maas_hidden_runs": (USER, "runs of p_user"),
    "maas_question_vector": (USER, "vectors of messages of p_user"),
    "maas_import": (USER, "new words under a new run, both p_user's; known by user, conversation and external id"),
    "maas_store_attachment": (USER, "the run is p_user's; stored once a user"),
    "maas_is_qualifying": (USER, "stages of p_user"),
    "maas_write_audit": (USER, "only adds a line to the audit; the server says who acts"),
    "maas_press_button": (USER, "the run is p_user's; the key of the press holds its id, and none but it may set it"),
    "maas_remember": (USER, "as maas_import"),
    "maas_set_client_metadata": (USER, "the message is p_user's"),
    "maas_restore": (USER, "ids are made p_user's own, rows that name another's are refused"),
    "maas_finish_restore": (USER, "words, records, messages and notes of p_user"),
    "maas_telegram_follow": (USER, "the run is p_user's"),
    "maas_telegram_ask": (NAME, "the run and the conversation are of the user of p_name; a trigger checks the images"),
    "maas_telegram_start": (NAME, "the run and the conversation are of the user of p_name"),
    "maas_telegram_place": (ALL, "the reply is the channel's own; the action is shown, and decided by its user only"),
    "maas_telegram_take": (ALL, "updates as Telegram sends them"),
    "tell_approval": (ROW, "the user of the action"),
    "tell_decision": (ROW, "the user of the action"),
    "withdraw_actions": (ROW, "the user of the run, whose actions they are"),
    "maas_emit_agent_task": (INSIDE, "endpoints of the run's user"),
    "maas_set_push_notification": (USER, "the task is p_user's"),
    "maas_delete_push_notification": (USER, "the endpoint is p_user's"),
    "maas_webhooks_of": (INSIDE, "maas_emit: endpoints of p_user, and those of operators"),
    "maas_emit": (INSIDE, "endpoints of p_user, and those of operators"),
    "maas_waits_too_much": (INSIDE, "maas_emit: counts what waits for the endpoint"),
    "maas_emit_memories": (INSIDE, "maas_write_records: the user of each summary"),
    "maas_emit_facts": (INSIDE, "the user of each fact"),
    "maas_check_webhook": (INSIDE, "maas_create_webhook and maas_change_webhook: reads no row"),
    "maas_add_webhook_secret": (INSIDE, "the endpoint is p_user's"),
    "maas_create_webhook": (ROUTE, "the endpoint is p_user's; an operator's without"),
    "maas_change_webhook": (ROUTE, "one endpoint; operators may change any"),
    "maas_rotate_webhook": (ROUTE, "one endpoint and its secrets; operators may change any"),
    "maas_delete_webhook": (ROUTE, "one endpoint; operators may delete any"),
    "maas_remove_webhook": (CLAIMS, "the endpoint is that of the user of the session's claims"),
    "maas_replay_webhook": (ROUTE, "one endpoint; the delivery is its own"),
    "maas_finish_deliveries": (ALL, "deliveries that were claimed, by id and attempt"),
    "maas_claim_ads_sync": (ALL, "what is due of all users, or one connection of a user whom the command names"),
    "maas_connect_ads": (USER, "the business and its connections are p_user's"),
    "maas_set_ads_token": (USER, "a secret of p_user"),
    "maas_ads_connections": (USER, "connections of p_user, and what is stored of their accounts"),
    "maas_want_ads_syncs": (USER, "syncs of p_user"),
    "maas_on_ads_connection": (ROW, "the user of the connection"),
    "maas_forget": (ROUTE, "p_user where one is named; all that goes is of the user whose memory it is"),
    "maas_forget_conversation": (ROUTE, "one conversation; all that goes is of its user"),
    "maas_forget_words": (INSIDE, "maas_forget, maas_forget_conversation: words, runs and answers of p_user"),
    "maas_memories_from": (ROUTE, "memories of p_user where one is named; an operator's without"),
    "maas_answers_from": (ROUTE, "messages of p_user where one is named; an operator's without"),
    "maas_join_request": (INSIDE, "log_queries: runs of the request's user"),
    "maas_joined_run": (SESSION, "requests that the session may see"),
    "maas_request_digest": (SESSION, "reads no row"),
    "maas_cancel_run": (ROUTE, "one run; operators may cancel any"),
    "maas_is_paused": (INSIDE, "says whether a run with these columns waits"),
    "maas_promote": (INSIDE, "maas_erase, maas_pause: runs by their queue keys, of all users"),
    "maas_retry_run": (ROUTE, "one run, words and records of its user; operators may retry any"),
    "maas_share_conversation": (ROUTE, "one conversation; the link is of its user"),
    "maas_list_links": (USER, "links of p_user to conversations of p_user"),
    "maas_link_owner": (ROUTE, "one link: the question itself"),
    "maas_revoke_link": (ROUTE, "one link"),
    "maas_connect_app": (USER, "an app of p_user"),
    "maas_give_app_tokens": (INSIDE, "maas_exchange_code, maas_renew_app: the app of the code or token"),
    "maas_end_reused_app": (INSIDE, "maas_exchange_code, maas_renew_app: the app of the code or token"),
    "maas_list_apps": (USER, "apps of p_user"),
    "maas_app_owner": (ROUTE, "one app: the question itself"),
    "maas_disconnect_app": (ROUTE, "one app"),
    "maas_disconnect_apps": (INSIDE, "maas_change_account, maas_set_roles: apps of p_user"),
    "maas_clear_conversation": (ROUTE, "one conversation and its messages, which are of its user"),
    "maas_active_agent": (CLAIM, "the run's conversation, messages of its user"),
    "maas_add_events": (CLAIM, "by run and attempt"),
    "maas_add_note": (CLAIM, "notes of the run's user"),
    "maas_advance": (CLAIM, "by owner, run and attempt"),
    "maas_archive_exchange": (CLAIM, "by owner, run and attempt; logs of the run's user"),
    "maas_begin_tool": (CLAIM, "by run and attempt"),
    "maas_count_call": (CLAIM, "by run and attempt"),
    "maas_drop_note": (CLAIM, "notes of the run's user"),
    "maas_excuse": (CLAIM, "runs that were reclaimed from this owner last"),
    "maas_end_action": (CLAIM, "by run and attempt; the action whose run it is"),
    "maas_finish_tool": (CLAIM, "by run and attempt"),
    "maas_fold_conversation": (CLAIM, "runs, words and records of the conversation's user"),
    "maas_store_drawing": (CLAIM, "images of the run's user"),
    "maas_save_session": (CLAIM, "by run and attempt; the session that the run opened"),
    "maas_set_agent": (CLAIM, "by run and attempt"),
    "maas_record_read": (CLAIM, "by run and attempt"),
    "maas_open_action": (CLAIM, "by run and attempt; the action whose run it is"),
    "maas_open_session": (CLAIM, "by run and attempt; the session of its user"),
    "maas_open_pressed_session": (CLAIM, "by run and attempt; a session of its user"),
    "maas_use_session": (INSIDE, "the session and the run are of one user"),
    "maas_pin_calls": (CLAIM, "by run and attempt"),
    "maas_insert_task": (
        USER,
        "the run that starts it is p_user's, and so is the conversation; its key holds that run's id",
    ),
    "maas_insert_trial": (ROUTE, "the run and its trial are of one user; an administrator of all users is asked first"),
    "maas_hide_question": (INSIDE, "the question of a run, of its user"),
    "maas_show_question": (INSIDE, "the question of a run, of its user"),
    "maas_store_response": (USER, "the run is p_user's"),
    "maas_delete_response": (USER, "p_user"),
    "maas_store_exchange": (USER, "the run is of the user in it; an earlier one of the same key only of that user"),
    "maas_replaced_runs": (USER, "runs of p_user"),
    "maas_dropped_runs": (USER, "runs of p_user"),
    "maas_drop_replaced": (CLAIM, "what the run replaces is of the same user"),
    "maas_insert_call": (USER, "the run is p_user's; a key gives back only the same call of p_user"),
    "maas_next_step": (CLAIM, "by run and attempt"),
    "maas_end_step": (CLAIM, "by run and attempt"),
    "maas_finish_edit": (CLAIM, "the action that the metadata of the run name, if it is of its user"),
    "maas_propose_action": (CLAIM, "the user and the conversation of the run"),
    "maas_keep_start": (CLAIM, "by run and attempt; the conversation of its user"),
    "maas_show_actions": (CLAIM, "by run and attempt; actions of its user that it or its conversation proposed"),
    "maas_is_shown": (INSIDE, "the run and the action are of one user and conversation"),
    "maas_undecided_actions": (CLAIM, "the user and the conversation of the run"),
    "maas_failures_in_a_row": (CLAIM, "the user and the conversation of the run"),
    "maas_decide_by_words": (CLAIM, "by run and attempt; actions of its user and conversation"),
    "maas_step": (CLAIM, "by owner, run and attempt; words and records of the run's user"),
    "maas_end_runs": (INSIDE, "maas_step: by owner, run and attempt"),
    "maas_claim_runs": (INSIDE, "maas_step: runs of all users, by their queue keys"),
    "maas_write_embeddings": (CLAIM, "a vector belongs to the user of its turn"),
    "maas_add_metrics": (ALL, "counters without users"),
    "maas_format_call": (ALL, "formats what it is given"),
    "maas_lease_embeddings": (ALL, "p_owner is the process that fills"),
    "maas_add_calls": (INSIDE, "by run and attempt"),
    "maas_actions_of": (INSIDE, "store_answer: calls of the run"),
    "maas_load": (ROUTE, "rows of p_user if one is named; an operator's command"),
    "maas_renew_secret": (USER, "the secret is p_user's, and the caller knows its value"),
    "maas_set_secret": (ROUTE, "the secret is p_user's; an operator's command"),
    "maas_delete_secret": (ROUTE, "the secret is p_user's; an operator's command"),
    "maas_read_secrets": (USER, "the secrets are p_user's"),
    "maas_secret_times": (ALL, "when secrets of connected users were changed, no values"),
    "maas_create_schedule": (ROUTE, "the schedule is p_user's, and the conversation must be"),
    "maas_change_schedule": (ROUTE, "the schedule of the path"),
    "maas_delete_schedule": (ROUTE, "the schedule of the path"),
    "maas_run_schedule": (CLAIM, "requests of the schedule's user"),
    "maas_set_specs": (USER, "the preferences are p_user's"),
    "maas_password_hash": (USER, "the hash is p_user's"),
    "maas_begin_session": (USER, "the session is p_user's"),
    "maas_end_sessions": (USER, "the sessions are p_user's"),
    "maas_change_account": (USER, "the account and its sessions are p_user's"),
    "maas_create_link": (ROUTE, "a link for p_user; an administrator's"),
    "maas_create_account": (INSIDE, "the owner makes accounts, and maas_sign_up makes those of new users"),
    "maas_forget_crm_leads": (USER, "leads of p_user, and dialogues of theirs"),
    "maas_count_dialogs": (INSIDE, "dialogues and leads of one account, whose rows are one user's"),
    "maas_on_whatsapp_messages": (ROW, "dialogues of the messages' accounts"),
    "maas_on_lead_phone": (ROW, "dialogues of the lead's account"),
    "maas_check_load": (INSIDE, "checks what it is given"),
    "maas_check_loaded_owners": (INSIDE, "checks what it is given"),
    "maas_check_step": (INSIDE, "checks what it is given"),
    "maas_check_steps": (INSIDE, "checks what it is given"),
    "maas_task_limit": (INSIDE, "checks what it is given"),
    "maas_add_event": (INSIDE, "by run"),
    "maas_add_tool_messages": (INSIDE, "by owner, run and attempt; the conversation is of the run's user"),
    "maas_claim_action": (INSIDE, "maas_open_action"),
    "maas_answer_origins": (INSIDE, "store_answer: calls of the run, its conversation and sources of its user"),
    "maas_classify_ids": (INSIDE, "maas_restore: tells which ids are p_user's"),
    "maas_set_budget": (ROUTE, "the budget is p_user's; an administrator of all users sets it"),
    "maas_drop_budget": (ROUTE, "the budget is p_user's; an administrator of all users ends it"),
    "maas_keep_trial_set": (ALL, "administrators of all users"),
    "maas_create_own_key": (USER, "the key is p_user's"),
    "maas_create_key": (USER, "the key is p_user's, or an administrator's, who is asked first"),
    "maas_set_roles": (USER, "the roles are p_user's; an administrator of all users is asked first"),
    "maas_notes": (USER, "the facts are p_user's"),
    "maas_profile": (USER, "the facts are p_user's"),
    "maas_add_profile": (INSIDE, "the facts are p_user's"),
    "maas_drop_profile": (INSIDE, "the facts are p_user's"),
    "maas_set_profile": (USER, "the profile is p_user's"),
    "maas_set_timezone": (USER, "the profile is p_user's"),
    "maas_add_document": (USER, "the document and its chunks are p_user's, or everybody's for an operator"),
    "maas_expect_documents": (USER, "the documents are p_user's, or everybody's for an operator"),
    "maas_mark_document": (USER, "the document is p_user's, or everybody's for an operator"),
    "maas_embed_chunks": (CLAIM, "a vector belongs to the owner of its document"),
    "maas_remove_document": (USER, "the document is p_user's, or everybody's for an operator"),
    "maas_count_knowledge": (INSIDE, "counts of the document's user"),
    "maas_set_preferences": (USER, "the preferences and the sessions are p_user's"),
    "maas_replace_preferences": (INSIDE, "the preferences are p_user's"),
    "maas_lock_interviewed": (INSIDE, "the run of maas_begin_interview and maas_keep_interview"),
    "maas_begin_interview": (CLAIM, "the profile of the run's user"),
    "maas_keep_interview": (CLAIM, "the profile and the preferences of the run's user"),
    "maas_dissolve_parents": (INSIDE, "each record with those of its user"),
    "maas_finish_action": (INSIDE, "maas_end_action"),
    "maas_hash_arguments": (CLAIM, "hashes what it is given"),
    "maas_lock_runs": (INSIDE, "runs of p_user"),
    "maas_sums_of": (ALL, "administrators of all users: figures of runs, no words"),
    "maas_add_to_sums": (INSIDE, "figures of runs that its callers have chosen"),
    "maas_count_runs": (INSIDE, "runs that its callers delete or try again"),
    "maas_expect_sums": (INSIDE, "maas move: runs of p_user"),
    "keep_sums_of_erased": (ROW, "what the deleted rows came to, without their users"),
    "maas_check_quotas": (USER, "counts what is p_user's"),
    "maas_check_memory": (INSIDE, "counts what is p_user's"),
    "maas_memory_bytes": (INSIDE, "text of p_user"),
    "maas_id_owners": (INSIDE, "maas_restore: whose ids are"),
    "maas_is_in_use": (INSIDE, "maas_forget: words and runs of p_user"),
    "maas_lock_memory": (INSIDE, "a lock of p_user"),
    "maas_map_ids": (INSIDE, "maas_restore"),
    "maas_record_failures": (INSIDE, "words of the run's user"),
    "maas_records_covering": (INSIDE, "maas_forget: records of p_user"),
    "maas_relink_corrections": (INSIDE, "maas_forget, maas_purge_expired: corrections of p_user"),
    "maas_restore_passages": (INSIDE, "maas_restore: documents of p_user that this import has added"),
    "maas_settle_documents": (INSIDE, "maas_finish_restore: documents of p_user that this import has added"),
    "maas_skip_steps": (INSIDE, "maas_next_step, maas_continue_task: steps of p_run"),
    "maas_settle_step": (INSIDE, "maas_end_step, settle_waiting_steps: actions of the user of p_run"),
    "maas_continue_task": (INSIDE, "settle_waiting_steps, continue_task: a task of the user of p_run"),
    "maas_delete_logs": (INSIDE, "maas_forget: words, records and runs of p_user"),
    "maas_repeating_answers": (INSIDE, "maas_forget: words of p_user"),
    "maas_merge_origins": (INSIDE, "merges what it is given"),
    "maas_restored_id": (INSIDE, "maas_restore: the secret"),
    "maas_runs_using": (INSIDE, "maas_forget: runs and words of p_user"),
    "maas_tokens_of": (INSIDE, "store_answer: calls of the run"),
    "maas_speakers": (INSIDE, "words of p_user"),
    "maas_distinctive_lexemes": (INSIDE, "maas_forget: words and counts of p_user"),
    "maas_memory_logs": (INSIDE, "maas_forget: words of the memory's user"),
    "maas_write_records": (INSIDE, "words and records of the user that the engine names"),
    "check_attributes": (ROW, "the run's own"),
    "check_attachments": (ROW, "images of the run's user"),
    "count_failure": (ROW, "counts"),
    "settle_action": (ROW, "the action whose run it is"),
    "settle_steps": (ROW, "the steps of the run"),
    "settle_waiting_steps": (ROW, "the steps that wait for the action"),
    "continue_task": (ROW, "the steps of the run"),
    "delete_copies": (ROW, "messages and notes of the same user and run"),
    "join_conversation": (ROW, "refuses a conversation of another user"),
    "keep_prompt_version": (ROW, "prompts are nobody's"),
    "log_queries": (ROW, "words and quota of the run's user"),
    "store_answer": (ROW, "words, messages and the conversation of the run's user"),
    "audit_change": (ROW, "only adds a line to the audit"),
    "notify_pipeline_change": (ROW, "tells ids and statuses"),
    "number_prompt_version": (ROW, "prompts are nobody's"),
    "refuse_audit_change": (ROW, "refuses"),
    "refuse_transition": (ROW, "refuses"),
    "notify_engines": (ROW, "tells nothing"),
    "count_assistants_version": (ROW, "a counter"),
    "prepare_run": (ROW, "the queue_state is that of the run's user"),
    "fill_attachment_ids": (ROW, "images and runs of the message's user"),
    "end_failed_run": (ROW, "the row alone"),
    "skip_archive": (ROW, "the row alone"),
    "insert_request": (ROW, "runs as the session that inserts: its rights and row security bind it"),
    "refuse_request_change": (ROW, "refuses"),
    "limit_kept": (ROW, "counts those of the rows' users"),
    "limit_queue": (ROW, "counts those of the rows' users"),
    "touch_updated_at": (ROW, "the row alone"),
    "replace_old_state": (ROW, "the row alone"),
}

# The number of the parameter that is the user.
OF_USER = {
    "a2a_tasks": 1, "set_push_notification": 1, "delete_push_notification": 1, "push_notifications": 1,
    "list_actions": 1, "plan": 1, "edit_action": 2, "decide_action": 2, "keep_attachment": 1, "attachment": 2,
    "attachment_content": 2, "drop_attachment": 2, "create_conversation": 1, "conversation_summary": 2,
    "recent_messages": 1, "group_children": 1, "compact": 1, "turns": 1, "recent_turns": 1, "records": 1,
    "records_as_of": 1, "wordless_records": 1, "messages_before": 1, "list_memories": 1, "sources": 1, "corrections": 1,
    "corrections_under": 1, "correct": 1, "open_run_of_conversation": 1, "history": 1, "import_turns": 1,
    "import_portion": 1,
    "notes": 1, "answering": 1, "answered_run": 1, "erase_user": 1, "erasure": 1, "check_memory": 1,
    "resume_erasure": 2, "remember": 1, "restore_rows": 2, "settle_restore": 1,
    "archived_messages": 1, "found_facts": 1, "rebuild_facts": 1,
    "list_facts": 1, "find_facts": 1, "decide_fact": 1, "correct_fact": 1, "merge_fact_names": 1, "export_facts": 1,
    "export_fact_decisions": 1, "export_fact_names": 1,
    "export_logs": 1, "export_records": 1, "export_corrections": 1, "export_conversations": 1, "export_messages": 1,
    "export_tool_messages": 1, "export_documents": 1, "export_passages": 1,
    "export_attachments": 1, "export_actions": 1, "export_runs": 1, "repeated_run": 1, "turns_of_words": 1,
    "candidates": 1, "search_facts": 1, "rare_turns": 1, "counted_lexemes": 1, "said_lexemes": 1, "count_terms": 1,
    "client_memories": 1, "client_memory_texts": 1, "client_memory_versions": 1, "set_client_metadata": 1,
    "press_button": 2, "cosines": 1, "nearest": 1, "has_name": 1, "note_audit": 2, "spent": 2, "spending": 1,
    "add_usage": 1, "insert_call": 1, "action": 2, "forget": 2, "memories_from": 1, "answers_from": 1,
    "list_runs": 1, "list_queued_runs": 1, "insert_task": 1, "own_account": 1,
    "search_runs": 1, "list_conversations": 1, "list_links": 1, "list_apps": 1, "connect_app": 1,
    "shared_messages": 2,
    "user_profile": 1, "set_profile": 1, "set_timezone": 1,
    "user_preferences": 1, "set_preferences": 1, "who_is_user": 1,
    "add_document": 1, "remove_document": 1, "known_document": 1, "list_documents": 1, "tracked_documents": 1,
    "expect_documents": 1, "mark_document": 1, "document": 1, "nearest_chunks": 1, "knowledge_chunks": 1, "passages": 1,
    "document_chunks": 1,
    "memory_totals": 1, "memory_days": 1, "imported_conversations": 1, "imported_messages": 1,
    "knowledge_state": 1, "knowledge_terms": 1, "knowledge_candidates": 1,
    "chat_conversation": 2, "chat_status": 2, "telegram_follow": 3, "telegram_action": 2,
    "create_webhook": 1, "list_webhooks": 1, "create_schedule": 1, "list_schedules": 1,
    "set_secret": 1, "renew_secret": 1, "delete_secret": 1, "read_secrets": 1, "list_secrets": 1,
    "user_specs": 1, "set_specs": 1, "connect_ads": 1, "set_ads_token": 1, "list_ads_accounts": 1,
    "remove_ads_account": 1,
    "password_hash": 1, "account": 1, "is_blocked": 1, "user_sessions": 1, "begin_session": 1, "auth_session": 1,
    "end_sessions": 1, "change_account": 1,
    "create_link": 1, "create_own_key": 1, "list_own_keys": 1, "revoke_own_key": 1,
    "budget": 1, "set_budget": 1, "drop_budget": 1,
    "recent_brain_actions": 1, "ad_account_status": 1, "keep_ad_account_status": 1,
    "directions_in_short": 1,
    "creatives": 1, "find_creatives": 1, "creative_days": 1, "creative_ads": 1, "creative_analyses": 1,
    "creative_risks": 1, "creative_tests": 1, "keep_creative_analysis": 1, "keep_launched_ad": 1, "set_ad_status": 1,
    "set_creative_status": 1, "begin_creative_test": 1, "keep_creative_test": 1, "fail_creative_test": 1,
    "end_creative_test": 1,
}  # fmt: skip
OF_USER |= dict.fromkeys((
    "ads_account", "ads_keep_campaigns", "ads_keep_adsets", "ads_keep_ads", "ads_keep_shown", "ads_keep_adset_days",
    "ads_keep_direction_days", "ads_campaign", "ads_adset", "ads_set_status", "ads_set_adset_budget",
    "ads_adset_targets", "ads_creatives_of", "ads_directions", "ads_direction_figures", "ads_direction_days",
    "ads_direction_results", "ads_direction_creatives", "ads_set_direction_status",
    "ads_set_direction_target", "ads_creatives", "ads_creative_figures", "ads_creative_results", "ads_has_revenue",
    "ads_sales_quality", "ads_stage_counts", "ads_count_leads", "ads_leads", "ads_lead", "ads_stages",
    "ads_keep_stages", "ads_set_lead_stage", "ads_count_dialogs", "ads_dialogs", "ads_dialog", "ads_dialog_messages",
    "ads_search_summaries", "ads_keep_summary", "ads_recipients", "ads_begin_send", "ads_end_send", "ads_sends",
    "ads_synced_to", "ads_set_synced_to", "ads_sync_direction_days", "ads_keep_creative_days", "ads_crm_synced_to",
    "ads_link_leads", "ads_keep_leads", "ads_set_crm_synced_to", "ads_keep_whatsapp_state", "ads_chats_synced_to",
    "ads_keep_messages", "ads_chat_synced", "ads_synced", "ads_keep_chat", "ads_keep_creatives",
    "ads_keep_chat_leads", "ads_find_sources", "ads_attribute_leads", "ads_keep_crm_currency", "ads_set_qualifying",
    "ads_qualify_leads", "ads_set_rate", "ads_directions_and_proposals", "ads_add_direction", "ads_set_targets",
    "ads_direct_ads", "ads_set_messages_from", "ads_has_unread_leads", "ads_set_up",
    "ads_set_sync_interval", "ads_connection_states", "ads_want_syncs",
    "ads_forms_to_read", "ads_set_forms_synced_to", "ads_link_form_leads",
    "ads_keep_form_leads", "ads_forget_crm_leads", "ads_mark_deleted_campaigns", "ads_mark_deleted_adsets",
    "ads_mark_deleted_ads", "ads_unknown", "ads_keep_token_end",
), 1)  # fmt: skip
QUERIES: Mapping[str, tuple[str, str]] = {
    **{name: (USER, f"${number}") for name, number in OF_USER.items()},
    "telegram_ask": (NAME, "$6"),
    "telegram_start": (NAME, "$5"),
    "telegram_place": (ALL, "the reply is the channel's own"),
    "telegram_take": (ALL, "updates as Telegram sends them"),
    "client_insert": (USER, "row security, or a program that is there for all; triggers check what the row names"),
    "client_look": (USER, "row security, or a program that is there for all"),
    "logs_of_exchange": (USER, "$1"),
    "is_kept_for_others": (USER, "$1"),
    "conversation_party": (USER, "who asks: the caller compares"),
    "store_response": (USER, "$1"),
    "delete_response": (USER, "$1"),
    "responses_before": (USER, "$1"),
    "outputs_of_responses": (USER, "$1"),
    "response": (ROUTE, "response"),
    "store_exchange": (USER, "by maas_store_exchange"),
    "excuse_engine": (CLAIM, "by maas_excuse"),
    "drop_replaced": (CLAIM, "by maas_drop_replaced"),
    "question_to_replace": (USER, "$1"),
    "cancel_runs": (ALL, "of an administrator or an operator: runs of all users"),
    "retry_runs": (ALL, "of an administrator or an operator: runs of all users"),
    "runs_to_cancel": (ALL, "of an administrator or an operator, who may name a user"),
    "runs_to_retry": (ALL, "of an administrator or an operator, who may name a user"),
    "insert_runs": (USER, "ids are the server's; triggers check conversation and images of each user"),
    "cancel_run": (ROUTE, "run"),
    "retry_run": (ROUTE, "run"),
    "run": (ROUTE, "run; images of its user"),
    "run_state": (ROUTE, "run"),
    "request_of_run": (ROUTE, "run"),
    "run_states": (ROUTE, "run, or conversation: runs of its messages; images of their users"),
    "client_joined": (USER, "row security, or a program that is there for all"),
    "joined_run": (USER, "of the caller in $2, who sends the same body"),
    "run_of_key": (USER, "of the caller in $1, who compares the user"),
    "executed_actions": (ROUTE, "run: those that were read before; actions of their users"),
    "run_trace": (ROUTE, "run; memories of its user"),
    "completion": (ROUTE, "run: one that the caller has just made"),
    "brain_answer": (ROUTE, "run: one that the caller has just made; messages and the conversation of its user"),
    "follow_runs": (ROUTE, "run"),
    "follow_users": (ROUTE, "user: runs of each of $1"),
    "user_timezones": (USER, "the zone of each of $1"),
    "users_of_runs": (ROUTE, "run: as notified; only streams of its user are woken"),
    "conversation": (ROUTE, "conversation"),
    "change_conversation": (ROUTE, "conversation"),
    "forget_conversation": (ROUTE, "conversation"),
    "share_conversation": (ROUTE, "conversation"),
    "revoke_link": (ROUTE, "link"),
    "disconnect_app": (ROUTE, "app"),
    "clear_conversation": (ROUTE, "conversation"),
    "message_place": (ROUTE, "conversation"),
    "list_messages": (ROUTE, "conversation; images of the message's user"),
    "memory": (ROUTE, "memory; the record of a turn is of its user"),
    **{f"owner_of_{name}": (ROUTE, f"{name}: the question itself")
       for name in ("run", "conversation", "action", "attachment", "memory", "fact", "document",
       "response", "webhook", "schedule", "link", "app")},
    **{name: (ROUTE, "schedule") for name in ("schedule", "change_schedule", "delete_schedule")},
    "run_schedule": (ALL, "of orchestrators, for all users"),
    **{name: (ROUTE, "the endpoint of the path; operators' are shown to administrators of all users") for name in (
        "webhook", "change_webhook", "rotate_webhook", "delete_webhook", "replay_webhook", "webhook_deliveries",
    )},
    "finish_deliveries": (ALL, "deliveries that were claimed, by id and attempt"),
    "ads_syncs": (ALL, "of an operator, who may name a user"),
    "ads_claim_sync": (ALL, "what is due of all users, or one connection of a user whom the command names"),
    "ads_renew_sync": (ALL, "a sync that was claimed, by id and owner"),
    "ads_release_sync": (ALL, "a sync that was claimed, by id and owner"),
    "ads_note_progress": (ALL, "a sync that was claimed, by id and owner"),
    "ads_end_sync": (ALL, "a sync that was claimed, by id and owner"),
    **{name: (CLAIM, "the engine's run") for name in (
        "propose_action", "show_actions", "undecided_actions", "decide_by_words", "failures_in_a_row", "dialogue",
        "start_results", "keep_start", "begin_interview", "keep_interview",
        "run_mode", "open_action", "end_action", "finish_edit", "photo_of_run", "drawing_of_run", "keep_drawing",
        "fold_conversation", "pin_calls",
        "run_sources", "kept_calls", "step", "advance", "archive_exchange", "trace_parent",
        "add_events", "layers_wanted", "exchange_of_run", "draft_inputs", "imported_turns", "add_note", "drop_note",
        "client_context",
        "open_session", "open_pressed_session", "keep_session", "pressed_button", "run_source", "own_call",
        "edited_call",
        "count_tool_call",
        "begin_tool", "finish_tool", "trial_input",
        "note_read", "open_domains", "run_account", "active_agent", "name_agent", "next_step", "end_step", "task_steps",
    )},
    **{name: (ALL, "administrators of all users") for name in (
        "admin_actions", "admin_audit", "admin_memories", "admin_users", "ranked_user_ids", "user_ids", "run_costs",
        "user_names", "names_of_users", "set_roles", "create_key", "insert_trial", "keep_trial_set",
    )},
    "secret_times": (ALL, "the users who are connected"),
    **{name: (ALL, "commands of operators") for name in (
        "load_rows", "create_account",
        "count_due", "import_progress", "stage_calls", "recorded_exchange", "recorded_record",
    )},
    **{name: (ALL, "work on all users, in the background") for name in (
        "due_groups", "write_embeddings", "embed_chunks", "sweep_turns", "texts", "lease_embeddings", "save_fill",
    )},
    **{name: (ALL, "nobody's: a counter, a definition, a notification, a header") for name in (
        "add_metrics", "configure_engine", "keep_assistant", "keep_tools", "ring_followers", "export_header",
    )},
}  # fmt: skip


def functions(connection: Connection) -> dict[str, tuple[list[str], list[str]]]:
    """Those that take ids and those of triggers: names of parameters, roles that may call them."""
    rows = connection.execute(
        """select p.proname as name, coalesce(p.proargnames, '{}') as parameters, array(
             select r from unnest(%s::text[]) r where has_function_privilege(r, p.oid, 'execute')) as roles
           from pg_proc p where p.pronamespace = 'maas'::regnamespace and (p.prorettype = 'trigger'::regtype
             or array(select format_type(t, null) from unnest(p.proargtypes::oid[]) t) && %s::text[])""",
        (list(ROLES), list(IDS)),
    ).fetchall()
    return {row["name"]: (row["parameters"], row["roles"]) for row in rows}


def parameters(connection: Connection, text: str) -> set[str] | None:
    """The types of what a query takes; None where the database lacks what it is about."""
    try:
        connection.execute(f"prepare asked as {text}".encode())
    except psycopg.errors.SyntaxError:
        return set()  # listen, unlisten
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedObject):
        return None  # vectors
    (row,) = connection.execute("select parameter_types::text[] as t from pg_prepared_statements where name = 'asked'")
    connection.execute("deallocate asked")
    return set(row["t"]) | ({"uuid"} if re.search(r"\$\d+(::\w+(\[\])?)*::uuid", text) else set())


def test_every_function_that_takes_an_id_says_what_binds_it(known: Connection) -> None:
    found = functions(known)
    assert sorted(found.keys() ^ FUNCTIONS.keys()) == []
    may: dict[str, set[str]] = {
        USER: {"maas_server", "maas_worker"},
        VIEW: {"maas_server", "maas_worker", "maas_ops"},
        NAME: {"maas_server"},
        ROUTE: {"maas_server", "maas_ops"},
        CLAIM: {"maas_worker"},
        CLAIMS: {"authenticated"},
        SESSION: {"authenticated", "maas_app", "maas_server"},  # they run with its rights
        ALL: {"maas_server", "maas_worker", "maas_ops"},
        INSIDE: set(),
        ROW: set(),
    }
    for name, (names, roles) in found.items():
        bound, _ = FUNCTIONS[name]
        assert set(roles) <= may[bound], f"{name} may be called by {roles}"
        assert bound not in (USER, VIEW) or "p_user" in names, f"{name} takes no user"
        assert bound != NAME or "p_name" in names, f"{name} takes no name"
    own = [name for name, (bound, _) in FUNCTIONS.items() if bound == SESSION]
    assert values(known, "select proname from pg_proc where proname = any(%s) and prosecdef", own) == []
    routes = {name for name, (bound, _) in FUNCTIONS.items() if bound in (ROUTE, VIEW)}
    assert {name for name, (_, roles) in found.items() if "maas_ops" in roles} <= routes | {"maas_format_call"}


def test_every_query_that_takes_an_id_says_what_binds_it(known: Connection) -> None:
    types = {name: parameters(known, text) for name, text in query_texts().items()}
    lacking = {name for name, found in types.items() if found is None}
    assert lacking <= {name for name, text in query_texts().items() if "embedding" in text}
    taking = {name for name, found in types.items() if found and found & IDS}
    assert sorted(taking ^ (QUERIES.keys() - lacking)) == []


@pytest.mark.parametrize("name", sorted(OF_USER))
def test_a_query_of_a_user_compares_the_user(name: str) -> None:
    """Or hands it to a function that does; null where it may be left out, which a bound caller cannot."""
    text, number = query_texts()[name], OF_USER[name]
    compared = rf"user_id\s*(=|is not distinct from)\s*\${number}\b"
    handed = rf"maas_\w+\([^;]*\${number}\b"
    assert re.search(compared, text) or re.search(handed, text)


def test_every_route_with_an_id_checks_its_owner() -> None:
    """What `ROUTE` relies on."""
    assert {route.resource for route in all_routes() if "{id}" in route.path} == set(RESOURCES.values())
    asked = {name.removeprefix("owner_of_") for name in query_texts() if name.startswith("owner_of_")}
    assert asked | {"user"} == set(RESOURCES.values())
