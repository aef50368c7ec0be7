-- JSON of others is kept up to 100 levels deep: deeper, some reader of it gives up, and what holds it cannot be read at all.
-- Rows that were there before stay. Written out, since who inserts need not execute a function of ours.

alter table pipeline_runs add constraint metadata_exceeds_100_levels
  check (not metadata @? 'strict $.**{100} ? (@.type() == "object" || @.type() == "array")') not valid;
alter table raw_logs add constraint metadata_exceeds_100_levels
  check (not metadata @? 'strict $.**{100} ? (@.type() == "object" || @.type() == "array")') not valid;
alter table chat_pending_actions add constraint tool_args_exceed_100_levels
  check (not tool_args @? 'strict $.**{100} ? (@.type() == "object" || @.type() == "array")') not valid;
alter table assistants add constraint definition_exceeds_100_levels
  check (not definition @? 'strict $.**{100} ? (@.type() == "object" || @.type() == "array")') not valid;
alter table tools add constraint parameters_exceed_100_levels
  check (not parameters @? 'strict $.**{100} ? (@.type() == "object" || @.type() == "array")') not valid;
