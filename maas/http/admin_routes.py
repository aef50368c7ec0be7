"""The routes of /v1/admin."""

from __future__ import annotations

from typing import get_args

from maas.engine.states import QueueState
from maas.http import attachments, knowledge, schemas, webhooks
from maas.http.admin import (
    actions,
    budgets,
    filters,
    inventory,
    overview,
    people,
    prompts,
    run_control,
    spending,
    trial_sets,
)
from maas.http.parameters import ANSWERS, FILTERS, LEVEL, PAGE, SEARCH, TEXT, TIME, USER, one_of
from maas.http.route import Parameters, Route

_AUDIT_PAGE: Parameters = {
    **PAGE,
    "before": ({"type": "string", "pattern": overview.AUDIT_CURSOR_PATTERN}, "`next` of the previous page."),
}

ADMIN_ROUTES = (
    Route("GET", "/v1/admin/metrics", overview.get_admin_metrics, "admin", response=overview.AdminMetrics,
          errors=(400,), query={
              "from": (TIME, "By default 30 days, today included."),
              "to": (TIME, "By default now; at most 400 days before it are shown.")}),
    Route("GET", "/v1/admin/spending", spending.get_admin_spending, "admin", response=spending.SpendingList,
          errors=(400,), query={
              "by": ({"type": "string", "enum": [*get_args(spending.SpendingKey)], "default": "day"}, "What it is by."),
              "from": (TIME, "By default 30 days, today included."),
              "to": (TIME, "By default now; at most 400 days before it are counted."), "limit": PAGE["limit"]}),
    Route("GET", "/v1/admin/budget", budgets.get_budget, "admin", response=budgets.UserBudget),
    Route("PUT", "/v1/admin/budget", budgets.put_budget, "admin", budgets.NewBudget, budgets.UserBudget,
          errors=(400, 413, 415, 422)),
    Route("DELETE", "/v1/admin/budget", budgets.delete_budget, "admin", status=204, errors=(404,)),
    Route("GET", "/v1/admin/users/{id}/budget", budgets.get_user_budget, "admin", response=budgets.UserBudget,
          errors=(404,)),
    Route("PUT", "/v1/admin/users/{id}/budget", budgets.put_user_budget, "admin", budgets.NewBudget,
          budgets.UserBudget, errors=(400, 404, 413, 415, 422)),
    Route("DELETE", "/v1/admin/users/{id}/budget", budgets.delete_user_budget, "admin", status=204, errors=(404,)),
    Route("GET", "/v1/admin/filters", filters.get_filters, "admin", response=filters.SavedFilterList),
    Route("PUT", "/v1/admin/filters/{list}/{filter}", filters.put_filter, "admin", filters.NewFilter,
          filters.SavedFilter, errors=(400, 403, 404, 413, 415, 422)),
    Route("DELETE", "/v1/admin/filters/{list}/{filter}", filters.delete_filter, "admin", status=204, errors=(404,)),
    Route("GET", "/v1/admin/inventory", inventory.get_inventory, "admin", response=inventory.Inventory),
    Route("GET", "/v1/admin/runs", overview.get_admin_runs, "admin", response=overview.AdminRunPage, errors=(400,),
          query={
              **USER, **FILTERS, "assistant": (TEXT, "Only runs of this assistant."),
              "error_code": (TEXT, "Only runs that failed with this code."),
              "queue": (one_of(QueueState), "Only runs there in the queue, as `queue` of the metrics counts them."),
              **PAGE}),
    Route("POST", "/v1/admin/runs/cancel", run_control.post_cancel_runs, "admin", run_control.CancelSelection,
          run_control.ChangedRuns, errors=(400, 404, 409, 413, 415, 422)),
    Route("POST", "/v1/admin/runs/retry", run_control.post_retry_runs, "admin", run_control.RetrySelection,
          run_control.ChangedRuns, errors=(400, 404, 409, 413, 415, 422)),
    Route("GET", "/v1/admin/pauses", run_control.get_pauses, "admin", response=run_control.PauseList),
    Route("POST", "/v1/admin/pauses", run_control.post_pause, "admin", run_control.NewPause, run_control.Paused,
          errors=(400, 404, 413, 415, 422)),
    Route("POST", "/v1/admin/pauses/end", run_control.post_resume, "admin", run_control.PauseEnd, run_control.Paused,
          errors=(400, 404, 413, 415, 422)),
    Route("GET", "/v1/admin/actions", actions.get_admin_actions, "admin", response=actions.WaitingActionPage,
          errors=(400,), query={**USER, **PAGE}),
    Route("GET", "/v1/admin/memories", overview.get_admin_memories, "admin", response=overview.AdminMemoryPage,
          errors=(400,), query={
              **USER, "tag": (TEXT, "Only summaries with this tag."),
              "level": (LEVEL, "Only summaries of it."),
              **PAGE}),
    Route("GET", "/v1/admin/prompts", prompts.get_prompts, "admin", response=prompts.PromptList),
    Route("GET", "/v1/admin/prompts/{role}", prompts.get_prompt, "admin", response=prompts.PromptState,
          errors=(404,)),
    Route("PUT", "/v1/admin/prompts/{role}", prompts.put_prompt, "admin", prompts.PromptChange, prompts.PromptState,
          errors=(400, 404, 409, 413, 415, 422)),
    Route("GET", "/v1/admin/prompts/{role}/history", prompts.get_prompt_history, "admin",
          response=prompts.PromptHistory, errors=(404,)),
    Route("POST", "/v1/admin/prompts/{role}/try", prompts.post_trial, "admin", prompts.PromptTrial,
          schemas.RunAccepted, 202, errors=(400, 404, 409, 413, 415, 422)),
    Route("GET", "/v1/admin/trial_sets", trial_sets.get_trial_sets, "admin", response=trial_sets.TrialSetList),
    Route("GET", "/v1/admin/trial_sets/{set}", trial_sets.get_trial_set, "admin", response=trial_sets.TrialSet,
          errors=(404,)),
    Route("PUT", "/v1/admin/trial_sets/{set}", trial_sets.put_trial_set, "admin", trial_sets.TrialSetRuns,
          trial_sets.TrialSet, errors=(400, 403, 404, 409, 413, 415, 422)),
    Route("DELETE", "/v1/admin/trial_sets/{set}", trial_sets.delete_trial_set, "admin", status=204, errors=(404,)),
    Route("GET", "/v1/admin/users", people.get_users, "admin", response=people.AdminUserPage, errors=(400,),
          query={
              "q": (SEARCH, "A part of a name, or a user id."),
              "sort": ({"type": "string", "enum": [*get_args(people.UserOrder)], "default": "id"},
                       "What the list is in the order of; but for id the highest first."),
              **PAGE}),
    Route("PUT", "/v1/admin/users/{id}/roles", people.put_roles, "admin", people.RoleChange, people.AdminUser,
          errors=(400, 404, 409, 413, 415, 422)),
    Route("GET", "/v1/admin/users/{id}/sessions", people.get_sessions, "admin", response=people.UserSessionList,
          errors=(404,)),
    Route("DELETE", "/v1/admin/users/{id}/sessions", people.delete_sessions, "admin", response=people.EndedSessions,
          errors=(404,)),
    Route("POST", "/v1/admin/users/{id}/reset", people.post_reset, "admin", response=people.ResetLink, errors=(404,)),
    Route("GET", "/v1/admin/keys", people.get_keys, "admin", response=people.ApiKeyList, errors=(400,),
          query=PAGE),
    Route("POST", "/v1/admin/keys", people.post_key, "admin", people.NewApiKey, people.CreatedKey, 201,
          errors=(400, 404, 413, 415, 422)),
    Route("DELETE", "/v1/admin/keys/{key}", people.delete_key, "admin", status=204, errors=(404,)),
    Route("POST", "/v1/admin/knowledge", knowledge.post_shared_document, "admin", knowledge.NewSharedDocument,
          knowledge.AddedDocument, 201, errors=(400, 413, 415, 422), request_types=(attachments.FORM_TYPE,)),
    Route("GET", "/v1/admin/knowledge", knowledge.get_shared_documents, "admin", response=knowledge.DocumentPage,
          errors=(400,), query=PAGE),
    Route("DELETE", "/v1/admin/knowledge/{document}", knowledge.delete_shared_document, "admin",
          response=knowledge.DocumentRemoved, errors=(400, 404), query=ANSWERS),
    Route("POST", "/v1/admin/webhooks", webhooks.post_shared_webhook, "admin", webhooks.NewSharedWebhook,
          webhooks.CreatedWebhook, 201, errors=(400, 403, 413, 415, 422)),
    Route("GET", "/v1/admin/webhooks", webhooks.get_shared_webhooks, "admin", response=webhooks.WebhookList),
    Route("GET", "/v1/admin/audit", overview.get_admin_audit, "admin", response=overview.AuditPage, errors=(400,),
          query={**USER, "action": (TEXT, "Only rows of this action."), **_AUDIT_PAGE}),
)  # fmt: skip
