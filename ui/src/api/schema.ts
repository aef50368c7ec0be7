// Generated from the OpenAPI document of the server: make ui.

export interface paths {
  "/v1/runs": {
    get: operations["get_runs"];
    post: operations["post_run"];
  };
  "/v1/runs/{id}": {
    get: operations["get_run"];
  };
  "/v1/runs/{id}/trace": {
    get: operations["get_trace"];
  };
  "/v1/runs/{id}/events": {
    get: operations["get_events"];
  };
  "/v1/runs/{id}/cancel": {
    post: operations["post_cancel"];
  };
  "/v1/runs/{id}/retry": {
    post: operations["post_retry"];
  };
  "/v1/runs/{id}/again": {
    post: operations["post_run_again"];
  };
  "/v1/runs/{id}/replay": {
    post: operations["post_run_replay"];
  };
  "/v1/runs/{id}/press": {
    post: operations["post_press"];
  };
  "/v1/conversations": {
    get: operations["get_conversations"];
    post: operations["post_conversation"];
  };
  "/v1/conversations/{id}": {
    get: operations["get_conversation"];
    delete: operations["delete_conversation"];
    patch: operations["patch_conversation"];
  };
  "/v1/conversations/{id}/clear": {
    post: operations["post_clear"];
  };
  "/v1/conversations/{id}/messages": {
    get: operations["get_messages"];
  };
  "/v1/conversations/{id}/links": {
    post: operations["post_link"];
  };
  "/v1/links": {
    get: operations["get_links"];
  };
  "/v1/links/{id}": {
    delete: operations["delete_link"];
  };
  "/v1/shared": {
    post: operations["post_shared"];
  };
  "/v1/attachments": {
    post: operations["post_attachment"];
  };
  "/v1/attachments/{id}": {
    get: operations["get_attachment"];
    delete: operations["delete_attachment"];
  };
  "/v1/attachments/{id}/content": {
    get: operations["get_content"];
  };
  "/v1/actions": {
    get: operations["get_actions"];
  };
  "/v1/actions/decide": {
    post: operations["post_decisions"];
  };
  "/v1/actions/{id}": {
    get: operations["get_action"];
    patch: operations["patch_action"];
  };
  "/v1/actions/{id}/approve": {
    post: operations["post_approve"];
  };
  "/v1/actions/{id}/reject": {
    post: operations["post_reject"];
  };
  "/v1/memories/search": {
    post: operations["post_search"];
  };
  "/v1/memories": {
    get: operations["get_memories"];
    post: operations["post_memories"];
  };
  "/v1/memories/{id}": {
    get: operations["get_memory"];
    delete: operations["delete_memory"];
  };
  "/v1/memories/{id}/correct": {
    post: operations["post_correct"];
  };
  "/v1/memories/{id}/sources": {
    get: operations["get_sources"];
  };
  "/v1/memories/{id}/history": {
    get: operations["get_history"];
  };
  "/v1/users/{id}/memory": {
    get: operations["get_totals"];
  };
  "/v1/users/{id}/memory/days": {
    get: operations["get_days"];
  };
  "/v1/users/{id}/facts": {
    get: operations["get_facts"];
  };
  "/v1/users/{id}/facts/names": {
    post: operations["post_merge_names"];
  };
  "/v1/facts/{id}/decide": {
    post: operations["post_decide"];
  };
  "/v1/facts/{id}/correct": {
    post: operations["post_correct_fact"];
  };
  "/v1/knowledge": {
    get: operations["get_documents"];
    post: operations["post_document"];
  };
  "/v1/knowledge/texts": {
    post: operations["post_text"];
  };
  "/v1/knowledge/search": {
    get: operations["get_passages"];
  };
  "/v1/knowledge/{id}": {
    get: operations["get_document"];
    delete: operations["delete_document"];
  };
  "/v1/knowledge/{id}/text": {
    get: operations["get_document_text"];
  };
  "/v1/users": {
    get: operations["get_user"];
    post: operations["post_user"];
  };
  "/v1/users/{id}/events": {
    get: operations["get_user_events"];
  };
  "/v1/users/{id}/spending": {
    get: operations["get_spending"];
  };
  "/v1/users/{id}/profile": {
    get: operations["get_profile"];
    put: operations["put_profile"];
  };
  "/v1/users/{id}/preferences": {
    get: operations["get_preferences"];
    put: operations["put_preferences"];
  };
  "/v1/users/{id}/export": {
    get: operations["get_export"];
  };
  "/v1/users/{id}/import": {
    post: operations["post_import"];
  };
  "/v1/users/{id}/imported": {
    get: operations["get_imported_conversations"];
  };
  "/v1/users/{id}/imported/messages": {
    get: operations["get_imported_messages"];
  };
  "/v1/users/{id}/keys": {
    get: operations["get_own_keys"];
    post: operations["post_own_key"];
  };
  "/v1/users/{id}/keys/{key}": {
    delete: operations["delete_own_key"];
  };
  "/v1/users/{id}": {
    delete: operations["delete_user"];
  };
  "/v1/webhooks": {
    get: operations["get_webhooks"];
    post: operations["post_webhook"];
  };
  "/v1/webhooks/{id}": {
    get: operations["get_webhook"];
    delete: operations["delete_webhook"];
    patch: operations["patch_webhook"];
  };
  "/v1/webhooks/{id}/rotate": {
    post: operations["post_rotate"];
  };
  "/v1/webhooks/{id}/deliveries": {
    get: operations["get_deliveries"];
  };
  "/v1/webhooks/{id}/replay": {
    post: operations["post_replay"];
  };
  "/v1/schedules": {
    get: operations["get_schedules"];
    post: operations["post_schedule"];
  };
  "/v1/schedules/{id}": {
    get: operations["get_schedule"];
    delete: operations["delete_schedule"];
    patch: operations["patch_schedule"];
  };
  "/v1/assistants": {
    get: operations["get_assistants"];
  };
  "/v1/caller": {
    get: operations["get_caller"];
  };
  "/v1/apps/preview": {
    post: operations["post_app_preview"];
  };
  "/v1/apps": {
    get: operations["get_apps"];
    post: operations["post_app"];
  };
  "/v1/apps/{id}": {
    delete: operations["delete_app"];
  };
  "/v1/admin/metrics": {
    get: operations["get_admin_metrics"];
  };
  "/v1/admin/spending": {
    get: operations["get_admin_spending"];
  };
  "/v1/admin/budget": {
    get: operations["get_budget"];
    put: operations["put_budget"];
    delete: operations["delete_budget"];
  };
  "/v1/admin/users/{id}/budget": {
    get: operations["get_user_budget"];
    put: operations["put_user_budget"];
    delete: operations["delete_user_budget"];
  };
  "/v1/admin/limits": {
    get: operations["get_limits"];
  };
  "/v1/admin/limits/{limit}": {
    put: operations["put_limit"];
    delete: operations["delete_limit"];
  };
  "/v1/admin/filters": {
    get: operations["get_filters"];
  };
  "/v1/admin/filters/{list}/{filter}": {
    put: operations["put_filter"];
    delete: operations["delete_filter"];
  };
  "/v1/admin/prices": {
    get: operations["get_prices"];
    put: operations["put_price"];
  };
  "/v1/admin/prices/drop": {
    post: operations["post_drop_price"];
  };
  "/v1/admin/inventory": {
    get: operations["get_inventory"];
  };
  "/v1/admin/runs": {
    get: operations["get_admin_runs"];
  };
  "/v1/admin/runs/cancel": {
    post: operations["post_cancel_runs"];
  };
  "/v1/admin/runs/retry": {
    post: operations["post_retry_runs"];
  };
  "/v1/admin/pauses": {
    get: operations["get_pauses"];
    post: operations["post_pause"];
  };
  "/v1/admin/pauses/end": {
    post: operations["post_resume"];
  };
  "/v1/admin/actions": {
    get: operations["get_admin_actions"];
  };
  "/v1/admin/memories": {
    get: operations["get_admin_memories"];
  };
  "/v1/admin/prompts": {
    get: operations["get_prompts"];
  };
  "/v1/admin/prompts/{role}": {
    get: operations["get_prompt"];
    put: operations["put_prompt"];
  };
  "/v1/admin/prompts/{role}/history": {
    get: operations["get_prompt_history"];
  };
  "/v1/admin/prompts/{role}/try": {
    post: operations["post_trial"];
  };
  "/v1/admin/trial_sets": {
    get: operations["get_trial_sets"];
  };
  "/v1/admin/trial_sets/{set}": {
    get: operations["get_trial_set"];
    put: operations["put_trial_set"];
    delete: operations["delete_trial_set"];
  };
  "/v1/admin/users": {
    get: operations["get_users"];
  };
  "/v1/admin/users/{id}/roles": {
    put: operations["put_roles"];
  };
  "/v1/admin/users/{id}/sessions": {
    get: operations["get_sessions"];
    delete: operations["delete_sessions"];
  };
  "/v1/admin/accounts": {
    post: operations["post_account"];
  };
  "/v1/admin/users/{id}/reset": {
    post: operations["post_reset"];
  };
  "/v1/admin/keys": {
    get: operations["get_keys"];
    post: operations["post_key"];
  };
  "/v1/admin/keys/{key}": {
    delete: operations["delete_key"];
  };
  "/v1/admin/knowledge": {
    get: operations["get_shared_documents"];
    post: operations["post_shared_document"];
  };
  "/v1/admin/knowledge/{document}": {
    delete: operations["delete_shared_document"];
  };
  "/v1/admin/webhooks": {
    get: operations["get_shared_webhooks"];
    post: operations["post_shared_webhook"];
  };
  "/v1/admin/audit": {
    get: operations["get_admin_audit"];
  };
  "/v1/users/{id}/specs": {
    get: operations["get_specs"];
    put: operations["put_specs"];
  };
  "/v1/users/{id}/ads": {
    get: operations["get_ads"];
  };
  "/v1/users/{id}/ads/check": {
    post: operations["post_ads_check"];
  };
  "/v1/users/{id}/ads/connections": {
    post: operations["post_ads_connections"];
  };
  "/v1/users/{id}/ads/sync": {
    post: operations["post_ads_sync"];
  };
}
export type webhooks = Record<string, never>;
export interface components {
  schemas: {
    Action: {
      id: string;
      user_id: string;
      conversation_id: string | null;
      run_id: string;
      place: number;
      tool: string;
      arguments: {
        [key: string]: unknown;
      };
      parameters: {
        [key: string]: unknown;
      } | null;
      title: components["schemas"]["Phrase"] | string | null;
      reason: components["schemas"]["Phrase"] | string | null;
      object: string | null;
      changes: components["schemas"]["ActionChange"][];
      /** @enum {string} */
      effect: "read" | "write" | "dangerous";
      fingerprint: string;
      assistant: string | null;
      agent: string | null;
      status: components["schemas"]["ActionStatus"];
      created_at: string;
      expires_at: string;
      decided_by: string | null;
      decided_at: string | null;
      action_run_id: string | null;
      poll_url: string | null;
      result: {
        [key: string]: unknown;
      } | null;
    };
    ActionChange: {
      name: components["schemas"]["Phrase"];
      old: unknown;
      new: unknown;
    };
    ActionDecision: {
      user_id: string;
      fingerprint?: string | null;
    };
    ActionDecisions: {
      user_id: string;
      /** @enum {string} */
      decision: "approve" | "reject";
      actions: components["schemas"]["ShownAction"][];
    };
    ActionEdit: {
      user_id: string;
      arguments: {
        [key: string]: unknown;
      };
    };
    ActionPage: {
      results: components["schemas"]["Action"][];
      next: string | null;
    };
    /** @enum {string} */
    ActionStatus: "pending" | "approved" | "rejected" | "expired" | "executing" | "done" | "failed" | "in_doubt";
    AdAccountChoice: {
      token: string;
      accounts: string[];
    };
    AddedDocument: {
      id: string;
      is_everybodys: boolean;
      name: string;
      media_type: string;
      bytes: number;
      pages: number | null;
      chunks: number;
      summary: string;
      /** @enum {string} */
      status: "pending" | "processing" | "processed" | "failed";
      error: string | null;
      track_id: string;
      created_at: string;
      updated_at: string;
      /** @enum {string} */
      outcome: "added" | "unchanged";
    };
    AdminMemory: {
      id: string;
      user_id: string;
      user_name: string | null;
      level: number;
      period: string;
      tags: string[];
      memory: string;
      messages: number;
      created_at: string;
      superseded_by: string | null;
    };
    AdminMemoryPage: {
      results: components["schemas"]["AdminMemory"][];
      next: string | null;
    };
    AdminMetrics: {
      days: components["schemas"]["DayFigures"][];
      total: components["schemas"]["Figures"];
      queue: components["schemas"]["QueueFigures"];
      engines: components["schemas"]["EngineState"][];
      stuck: components["schemas"]["StuckRun"][];
      embedding: components["schemas"]["EmbeddingState"] | null;
    };
    AdminRun: {
      request_id: string;
      user_id: string;
      query: string;
      answer: string | null;
      assistant: string;
      conversation_id: string | null;
      kind: string;
      source: string;
      status: components["schemas"]["Status"];
      archive_status: components["schemas"]["ArchiveStatus"];
      error_code: string | null;
      error_message: string | null;
      limited: ("budget" | "stopped") | null;
      /** @enum {string} */
      memory: "ok" | "degraded" | "unavailable";
      created_at: string;
      completed_at: string | null;
      /** @enum {string} */
      priority: "high" | "normal" | "low";
      run_at: string | null;
      attributes: {
        [key: string]: unknown;
      };
      replaces: string | null;
      action: components["schemas"]["ExecutedAction"] | null;
      user_name: string | null;
      ms: number | null;
      tokens: number;
      dollars: number | null;
      models: string[];
    };
    AdminRunPage: {
      results: components["schemas"]["AdminRun"][];
      next: string | null;
    };
    AdminUser: {
      user_id: string;
      names: string[];
      email: string | null;
      name: string | null;
      is_admin: boolean;
      is_blocked: boolean;
      runs: number;
      errors: number;
      dollars: number;
      last_run_at: string | null;
      created_at: string | null;
    };
    AdminUserPage: {
      results: components["schemas"]["AdminUser"][];
      total: components["schemas"]["UserTotals"] | null;
      next: string | null;
    };
    AdsBusiness: {
      id: string;
      name: string;
      connections: components["schemas"]["AdsConnection"][];
      missing: ("Facebook" | "amoCRM" | "WhatsApp" | "directions" | "stages")[];
    };
    AdsConnection: {
      /** @enum {string} */
      service: "Facebook" | "amoCRM" | "WhatsApp";
      id: string;
      title: string;
      currency: string | null;
      timezone: string | null;
      token_ends_at: string | null;
      synced_at: string | null;
      is_syncing: boolean;
      is_waiting: boolean;
      next_sync_at: string | null;
      progress: {
        [key: string]: number;
      };
      error: string | null;
      problems: ("no_token" | "token_ended" | "token_ends" | "failed" | "never_read" | "stale")[];
    };
    AdsState: {
      businesses: components["schemas"]["AdsBusiness"][];
      crm_url: string | null;
      /** @enum {string} */
      whatsapp: "open" | "administrators" | "not_configured";
    };
    AnswerFromDocument: {
      request_id: string;
      id: string;
      created_at: string;
      answer: string;
    };
    ApiKey: {
      id: string;
      name: string;
      scopes: string[];
      user_id: string | null;
      user_name: string | null;
      prefix: string | null;
      per_minute: number | null;
      /** @enum {string} */
      state: "active" | "expired" | "revoked";
      created_at: string;
      expires_at: string | null;
      last_used_at: string | null;
    };
    ApiKeyList: {
      results: components["schemas"]["ApiKey"][];
      next: string | null;
    };
    AppList: {
      results: components["schemas"]["ConnectedApp"][];
    };
    AppRequest: {
      client_id: string;
      redirect_uri?: string | null;
      response_type?: string | null;
      code_challenge?: string | null;
      code_challenge_method?: string | null;
      scope?: string | null;
      state?: string | null;
      resource?: string | null;
    };
    /** @enum {string} */
    ArchiveStatus: "PENDING" | "ARCHIVING" | "ARCHIVED" | "SKIPPED" | "FAILED";
    AskingApp: {
      name: string;
      document_host: string | null;
      /** @enum {string} */
      redirect_kind: "site" | "computer" | "app";
      redirect_to: string;
      scopes: ("read" | "ask")[];
      problem: ("unsupported_response_type" | "invalid_request" | "invalid_scope" | "invalid_target") | null;
      refusal_url: string;
    };
    AssistantChoice: {
      name: string;
      title: string;
      description: string | null;
      voice: string | null;
    };
    AssistantList: {
      results: components["schemas"]["AssistantChoice"][];
    };
    AssistantState: {
      name: string;
      title: string;
      role: string;
      plugin: string | null;
      is_active: boolean;
      inactive_reason: string | null;
      updated_at: string;
    };
    Attachment: {
      id: string;
      /** @enum {string} */
      kind: "upload" | "generated";
      /** @enum {string} */
      media_type: "image/jpeg" | "image/png" | "image/webp";
      bytes: number;
      width: number;
      height: number;
      sha256: string;
      created_at: string;
    };
    AuditPage: {
      results: components["schemas"]["AuditRow"][];
      next: string | null;
    };
    AuditRow: {
      id: number;
      at: string;
      actor: string;
      actor_name: string | null;
      action: string;
      user_id: string | null;
      user_name: string | null;
      subject: string | null;
      details: {
        [key: string]: unknown;
      };
    };
    Button: {
      id: string;
      label: string;
    };
    ButtonPress: {
      user_id: string;
      button: string;
    };
    CallerRights: {
      name: string;
      scopes: string[];
      user_id: string | null;
      prefix: string | null;
    };
    CancelAccepted: {
      request_id: string;
      /** @constant */
      status: "cancelling";
    };
    CancelSelection: {
      user_id?: string | null;
      kind?: components["schemas"]["RunKind"] | null;
      assistant?: string | null;
      from?: string | null;
      to?: string | null;
      attributes?: {
        [key: string]: string | boolean | number;
      } | null;
      expected?: number | null;
      status?: components["schemas"]["Status"] | null;
    };
    ChangedRuns: {
      matched: number;
      changed: number;
    };
    CheckResult: {
      facebook: components["schemas"]["FacebookCheck"] | null;
      crm: components["schemas"]["CrmCheck"] | null;
      whatsapp: components["schemas"]["WhatsappCheck"] | null;
    };
    ClearResult: {
      messages: number;
    };
    ConnectedApp: {
      id: string;
      name: string;
      /** @enum {string} */
      redirect_kind: "site" | "computer" | "app";
      redirect_to: string;
      scopes: ("read" | "ask")[];
      created_at: string;
      renewed_at: string | null;
      expires_at: string;
    };
    ConnectingApp: {
      redirect_url: string;
    };
    ConnectionCheck: {
      facebook?: components["schemas"]["FacebookToken"] | null;
      crm?: components["schemas"]["CrmToken"] | null;
      whatsapp?: components["schemas"]["WhatsappChoice"] | null;
    };
    Conversation: {
      id: string;
      user_id: string;
      assistant: string;
      title: string | null;
      /** @enum {string} */
      source: "telegram" | "web";
      /** @enum {string} */
      mode: "auto" | "plan" | "ask";
      rolling_summary: string;
      last_agent: string | null;
      last_domain: string | null;
      is_processing: boolean;
      is_pinned: boolean;
      is_archived: boolean;
      is_remembered: boolean;
      created_at: string;
    };
    ConversationChange: {
      mode?: ("auto" | "plan" | "ask") | null;
      title?: string | null;
      is_pinned?: boolean | null;
      is_archived?: boolean | null;
    };
    ConversationLink: {
      id: string;
      conversation_id: string;
      title: string | null;
      has_evidence: boolean;
      created_at: string;
      expires_at: string;
    };
    ConversationMessage: {
      id: string;
      run_id: string | null;
      role: components["schemas"]["MessageRole"];
      content: string;
      actions: {
        [key: string]: unknown;
      }[] | null;
      agent: string | null;
      tool_calls: {
        [key: string]: unknown;
      }[] | null;
      tool_call_id: string | null;
      tool_name: string | null;
      tool_result: unknown;
      tokens_used: number | null;
      attachment_ids: string[];
      action_id: string | null;
      created_at: string;
    };
    ConversationPage: {
      results: components["schemas"]["ConversationSummary"][];
      next: string | null;
    };
    ConversationSummary: {
      id: string;
      user_id: string;
      assistant: string;
      title: string | null;
      /** @enum {string} */
      source: "telegram" | "web";
      /** @enum {string} */
      mode: "auto" | "plan" | "ask";
      is_processing: boolean;
      is_pinned: boolean;
      is_archived: boolean;
      is_remembered: boolean;
      created_at: string;
      updated_at: string;
    };
    CorrectionAccepted: {
      request_id: string;
      /** @constant */
      status: "processing";
      poll_url: string;
      id: string;
    };
    CreatedKey: {
      id: string;
      key: string;
    };
    CreatedLink: {
      id: string;
      conversation_id: string;
      title: string | null;
      has_evidence: boolean;
      created_at: string;
      expires_at: string;
      token: string;
    };
    CreatedWebhook: {
      id: string;
      user_id: string | null;
      url: string;
      events: (("run.completed" | "run.failed" | "run.approval_required" | "memory.added" | "memory.forgotten" | "fact.changed" | "task.progress") | "user.erased")[];
      texts: boolean;
      /** @enum {string} */
      state: "enabled" | "asked" | "gone" | "failing" | "queue_full";
      waiting: number;
      failing_since: string | null;
      paused_until: string | null;
      created_at: string;
      secret: string;
    };
    CrmCheck: {
      stages: number;
      currency: string;
      token_ends_at: string | null;
    };
    CrmToken: {
      url: string;
      token: string;
    };
    DayFigures: {
      requests: number;
      completed: number;
      failed: number;
      average_ms: number | null;
      p95_ms: number | null;
      tokens: number;
      dollars: number;
      day: string;
    };
    DeliveryReplay: {
      delivery_id?: string | null;
    };
    DocumentPage: {
      results: components["schemas"]["DocumentState"][];
      next: string | null;
    };
    DocumentPiece: {
      number: number;
      heading: string;
      page: number | null;
      position: number;
      text: string;
    };
    DocumentRemoved: {
      answers: components["schemas"]["AnswerFromDocument"][];
      total: number;
      forgotten: number;
    };
    DocumentState: {
      id: string;
      is_everybodys: boolean;
      name: string;
      media_type: string;
      bytes: number;
      pages: number | null;
      chunks: number;
      summary: string;
      /** @enum {string} */
      status: "pending" | "processing" | "processed" | "failed";
      error: string | null;
      track_id: string;
      created_at: string;
      updated_at: string;
    };
    DocumentText: {
      results: components["schemas"]["DocumentPiece"][];
      next: number | null;
    };
    DoubtfulAnswer: {
      request_id: string;
      id: string | null;
      status: components["schemas"]["Status"];
      created_at: string;
      answer: string | null;
    };
    EmbeddingState: {
      model: string;
      waiting: number;
    };
    EndedSessions: {
      ended: number;
    };
    EngineState: {
      name: string;
      heartbeat_at: string;
      in_flight: number;
      concurrency: number;
      stages: string[];
      is_alive: boolean;
    };
    EraseResult: {
      user_id: string;
      erased: {
        [key: string]: number;
      };
    };
    ExecutedAction: {
      id: string;
      tool: string;
      title: components["schemas"]["Phrase"] | string | null;
    };
    FacebookCheck: {
      accounts: components["schemas"]["FoundAdAccount"][];
      missing_permissions: string[];
      permissions_unknown: string | null;
      token_ends_at: string | null;
    };
    FacebookToken: {
      token: string;
    };
    Fact: {
      id: string;
      fact: string;
      about: string;
      /** @enum {string} */
      kind: "identity" | "relation" | "preference" | "plan" | "event" | "state" | "possession" | "question" | "profile" | "note";
      /** @enum {string} */
      state: "true" | "uncertain" | "replaced" | "ended" | "corrected" | "wrong" | "unused";
      since: string | null;
      said_by: string;
      said_at: string;
      last_said_at: string;
      true_from: string | null;
      true_until: string | null;
      is_pinned: boolean;
      origin: string;
      origins: components["schemas"]["MemoryOrigin"][];
      replaces: string | null;
      replaced_by: string | null;
      raw_log_ids: string[];
      created_at: string;
    };
    FactCorrected: {
      request_id: string;
      /** @constant */
      status: "processing";
      poll_url: string;
      id: string;
    };
    FactCorrection: {
      user_id: string;
      fact: string;
    };
    FactDecision: {
      user_id: string;
      /** @enum {string} */
      verdict: "wrong" | "ended" | "unused" | "pinned" | "free";
    };
    FactPage: {
      results: components["schemas"]["Fact"][];
      next: string | null;
    };
    Figures: {
      requests: number;
      completed: number;
      failed: number;
      average_ms: number | null;
      p95_ms: number | null;
      tokens: number;
      dollars: number;
    };
    ForgetResult: {
      logs: number;
      answers: number;
      records: number;
      facts: number;
      reopened: number;
      repeating: components["schemas"]["RepeatingAnswer"][];
      doubtful: components["schemas"]["DoubtfulAnswer"][];
      doubtful_runs: number;
      id: string;
    };
    ForgottenConversation: {
      logs: number;
      answers: number;
      records: number;
      facts: number;
      reopened: number;
      repeating: components["schemas"]["RepeatingAnswer"][];
      doubtful: components["schemas"]["DoubtfulAnswer"][];
      doubtful_runs: number;
      messages: number;
      images: number;
      schedules: number;
    };
    FoundAdAccount: {
      id: string;
      name: string;
      currency: string;
      timezone: string;
      can_run_ads: boolean;
    };
    FoundPassage: {
      document_id: string;
      chunk: number;
      name: string;
      heading: string;
      page: number | null;
      position: number;
      text: string;
      score: number;
    };
    ImportAccepted: {
      /** @constant */
      status: "processing";
      added: number;
      known: number;
      records: number;
      others: number;
      run_ids: string[];
      left_out: {
        [key: string]: number;
      };
    };
    ImportedConversation: {
      mapping: {
        [key: string]: Record<string, never>;
      };
    };
    ImportedDialogue: {
      conversation: string;
      title: string | null;
      beginning: string;
      messages: number;
      since: string;
      last_at: string;
    };
    ImportedDialogueMessage: {
      id: string;
      run_id: string;
      /** @enum {string} */
      role: "user" | "assistant";
      speaker: string | null;
      content: string;
      occurred_at: string;
    };
    ImportedDialogueMessages: {
      title: string | null;
      results: components["schemas"]["ImportedDialogueMessage"][];
      before: string | null;
      after: string | null;
    };
    ImportedDialoguePage: {
      results: components["schemas"]["ImportedDialogue"][];
      next: string | null;
    };
    ImportedTurn: {
      /** @enum {unknown} */
      role: "user" | "human" | "assistant" | "ai";
      content: string;
      at?: string | null | number;
      speaker?: string | number | null;
      conversation?: string | number | null;
      external_id?: string | number | null;
    };
    Inventory: {
      assistants: components["schemas"]["AssistantState"][];
      tools: components["schemas"]["ToolState"][];
      models: components["schemas"]["ModelHealth"][];
    };
    Invitation: {
      user_id: string;
      url_path: string;
    };
    Json: (null | boolean | number) | string | unknown[] | {
      [key: string]: unknown;
    };
    Limit: {
      name: string;
      description: string;
      value: number;
      configured: number;
      minimum: number;
      maximum: number;
      changed_by: string | null;
      updated_at: string | null;
    };
    LimitList: {
      results: components["schemas"]["Limit"][];
    };
    LinkList: {
      results: components["schemas"]["ConversationLink"][];
    };
    MemoriesAccepted: {
      request_id: string;
      /** @constant */
      status: "processing";
      poll_url: string;
      raw_log_ids: string[];
    };
    Memory: {
      id: string;
      /** @enum {string} */
      kind: "turn" | "summary" | "fact";
      memory: string;
      score: number | null;
      speaker: string | null;
      period: string;
      level: number | null;
      tags: string[];
      raw_log_ids: string[];
      occurred_at: string;
      created_at: string;
      corrected_by: string | null;
      corrects: string | null;
      origins: components["schemas"]["MemoryOrigin"][];
      metadata: {
        [key: string]: unknown;
      } | null;
    };
    MemoryDay: {
      day: string;
      messages: number;
    };
    MemoryDays: {
      year: number;
      results: components["schemas"]["MemoryDay"][];
    };
    MemoryHistory: {
      results: components["schemas"]["MemoryVersion"][];
    };
    MemoryOrigin: {
      /** @enum {string} */
      kind: "tool" | "document" | "import";
      name: string;
      domain: string | null;
      id: string | null;
    };
    MemoryPage: {
      results: components["schemas"]["Memory"][];
      next: string | null;
    };
    MemorySources: {
      results: components["schemas"]["RawLog"][];
      gone: number;
    };
    MemoryTotals: {
      messages: number;
      summaries: number;
      since: string | null;
      last_saved_at: string | null;
    };
    MemoryVersion: {
      id: string;
      /** @enum {string} */
      kind: "turn" | "summary";
      memory: string;
      speaker: string | null;
      occurred_at: string;
      created_at: string;
      made_into: string | null;
      superseded_at: string | null;
    };
    MessagePage: {
      results: components["schemas"]["ConversationMessage"][];
      runs: components["schemas"]["RunState"][] | null;
      next: string | null;
      previous: string | null;
    };
    /** @enum {string} */
    MessageRole: "user" | "assistant" | "system" | "tool";
    ModelCall: {
      try: number;
      stage: string;
      round: number;
      attempt: number;
      provider: string;
      model: string;
      role_name: string;
      prompt_version: number | null;
      reply: string | null;
      finish: string;
      attempts: number;
      tokens_in: number;
      tokens_out: number;
      tokens_cached: number;
      images: number;
      ms: number;
      first_ms: number | null;
      price: number | null;
      error: string | null;
      request_hash: string | null;
      calls: unknown;
      created_at: string;
    };
    ModelHealth: {
      stage: string;
      role: string;
      model: string;
      calls: number;
      failures: number;
      timeouts: number;
      last_error: string | null;
    };
    ModelPrice: {
      provider: string;
      model: string;
      input: number;
      cached: number | null;
      output: number;
      image: number | null;
      updated_at: string;
    };
    ModelPriceList: {
      results: components["schemas"]["ModelPrice"][];
    };
    NameMerge: {
      name: string;
      same_as: string;
    };
    NameMerged: {
      facts: number;
    };
    NewAccount: {
      email: string;
      name?: string | null;
    };
    NewApiKey: {
      name: string;
      scopes?: ("ask" | "read" | "metrics" | "admin")[];
      user_id?: string | null;
      prefix?: string | null;
      per_minute?: number | null;
      days?: number | null;
    };
    NewBudget: {
      daily_tokens: number | null;
      daily_dollars: number | null;
    };
    NewConnections: {
      business: string;
      facebook?: components["schemas"]["AdAccountChoice"] | null;
      crm?: components["schemas"]["CrmToken"] | null;
      whatsapp?: components["schemas"]["WhatsappChoice"] | null;
    };
    NewConversation: {
      user_id: string;
      assistant?: string;
      mode?: ("auto" | "plan" | "ask") | null;
      is_remembered?: boolean;
    };
    NewCorrection: {
      user_id: string;
      memory: string;
    };
    NewFilter: {
      query: string;
    };
    NewLimit: {
      value: number;
    };
    NewLink: {
      days?: number | null;
      evidence?: boolean;
    };
    NewMemories: {
      user_id: string;
      memory?: string | null;
      turns?: components["schemas"]["NewMessage"][] | null;
      conversation?: string | null;
      at?: string | null;
      external_id?: string | null;
      metadata?: {
        [key: string]: unknown;
      } | null;
      agent_id?: string | null;
      app_id?: string | null;
      run_id?: string | null;
    };
    NewMessage: {
      /** @enum {string} */
      role: "user" | "assistant";
      content: string;
      at?: string | null;
      speaker?: string | null;
      external_id?: string | null;
    };
    NewOwnKey: {
      name: string;
      scopes?: ("ask" | "read")[];
      days?: number | null;
    };
    NewPause: {
      /** @enum {string} */
      subject: "assistant" | "key" | "model" | "user";
      name: string;
      reason?: string | null;
    };
    NewPreferences: {
      preferences: {
        [key: string]: string;
      };
    };
    NewPrice: {
      provider: string;
      model: string;
      input: number;
      cached?: number | null;
      output: number;
      image?: number | null;
    };
    NewProfile: {
      name?: string | null;
      position?: string | null;
      department?: string | null;
      language?: ("ru" | "en") | null;
      timezone?: string | null;
    };
    NewRun: {
      user_id: string;
      query: string;
      assistant?: string;
      conversation_id?: string | null;
      mode?: ("auto" | "plan" | "ask") | null;
      metadata?: {
        [key: string]: unknown;
      } | null;
      attachment_ids?: string[];
      /** @enum {string} */
      priority?: "high" | "normal" | "low";
      run_at?: string | null;
      debounce?: number | null;
      attributes?: {
        [key: string]: string | boolean | number;
      } | null;
      is_remembered?: boolean;
      marks?: boolean | null;
      replaces?: string | null;
    };
    NewSecret: {
      secret: string;
    };
    NewSharedWebhook: {
      url: string;
      events?: (("run.completed" | "run.failed" | "run.approval_required" | "memory.added" | "memory.forgotten" | "fact.changed" | "task.progress") | "user.erased")[] | null;
      texts?: boolean;
    };
    NewSpecs: {
      specs: {
        [key: string]: string;
      };
    };
    NewTextDocument: {
      user_id: string;
      name: string;
      text: string;
    };
    NewUser: {
      external_id: string;
    };
    NewWebhook: {
      user_id: string;
      url: string;
      events?: ("run.completed" | "run.failed" | "run.approval_required" | "memory.added" | "memory.forgotten" | "fact.changed" | "task.progress")[] | null;
      texts?: boolean;
    };
    OpenedConversation: {
      id: string;
      user_id: string;
      assistant: string;
      title: string | null;
      /** @enum {string} */
      source: "telegram" | "web";
      /** @enum {string} */
      mode: "auto" | "plan" | "ask";
      rolling_summary: string;
      last_agent: string | null;
      last_domain: string | null;
      is_processing: boolean;
      is_pinned: boolean;
      is_archived: boolean;
      is_remembered: boolean;
      created_at: string;
      request_id: string | null;
      poll_url: string | null;
    };
    OwnKey: {
      id: string;
      name: string;
      scopes: string[];
      /** @enum {string} */
      state: "active" | "expired" | "revoked";
      created_at: string;
      expires_at: string | null;
      last_used_at: string | null;
    };
    OwnKeyList: {
      results: components["schemas"]["OwnKey"][];
    };
    PassageList: {
      results: components["schemas"]["FoundPassage"][];
      total: number;
    };
    Pause: {
      /** @enum {string} */
      subject: "assistant" | "key" | "model" | "user";
      name: string;
      reason: string | null;
      actor: string;
      since: string;
    };
    PauseEnd: {
      /** @enum {string} */
      subject: "assistant" | "key" | "model" | "user";
      name: string;
    };
    PauseList: {
      results: components["schemas"]["Pause"][];
    };
    Paused: {
      runs: number;
    };
    Phrase: {
      en: string;
      ru: string;
    };
    Preference: {
      value: string;
      answered_at: string;
    };
    Preferences: {
      preferences: {
        [key: string]: components["schemas"]["Preference"];
      };
    };
    PreviousRun: {
      id: string;
      seq: number;
      ended_at: string | null;
    };
    PricedModel: {
      provider: string;
      model: string;
    };
    Profile: {
      name: string | null;
      position: string | null;
      department: string | null;
      language: ("ru" | "en") | null;
      timezone: string | null;
    };
    PromptChange: {
      text: string;
      is_active: boolean;
      version: number;
    };
    PromptHistory: {
      results: components["schemas"]["PromptVersion"][];
    };
    PromptList: {
      results: components["schemas"]["PromptSummary"][];
    };
    PromptState: {
      role: string;
      version: number;
      text: string;
      is_active: boolean;
      variables: string[];
      updated_at: string;
    };
    PromptSummary: {
      role: string;
      version: number;
      is_active: boolean;
      updated_at: string;
      changed_by: string | null;
      characters: number;
    };
    PromptTrial: {
      run_id: string;
      text: string;
    };
    PromptVersion: {
      version: number;
      text: string;
      is_active: boolean;
      valid_from: string;
      changed_by: string | null;
    };
    QueueFigures: {
      inbox: number;
      waiting: number;
      runnable: number;
      deferred: number;
      in_flight: number;
      paused: number;
      scheduled: number;
    };
    QueuedRun: {
      id: string;
      seq: number;
      created_at: string;
    };
    RawLog: {
      id: string;
      run_id: string;
      /** @enum {string} */
      role: "user" | "assistant";
      speaker: string | null;
      content: string;
      conversation: string;
      external_id: string | null;
      occurred_at: string;
      origins: components["schemas"]["MemoryOrigin"][];
    };
    RepeatingAnswer: {
      request_id: string;
      id: string;
      created_at: string;
      answer: string;
    };
    Replayed: {
      deliveries: number;
    };
    ResetLink: {
      url_path: string;
    };
    RetrievedMemory: {
      id: string;
      /** @enum {string} */
      kind: "summary" | "turn" | "recent";
      score: number;
      period: string | null;
      tags: string[] | null;
      memory: string | null;
      logs: components["schemas"]["TracedLog"][];
    };
    RetrySelection: {
      user_id?: string | null;
      kind?: components["schemas"]["RunKind"] | null;
      assistant?: string | null;
      from?: string | null;
      to?: string | null;
      attributes?: {
        [key: string]: string | boolean | number;
      } | null;
      expected?: number | null;
      error_code?: string | null;
    };
    RoleChange: {
      is_admin?: boolean | null;
      is_blocked?: boolean | null;
    };
    RunAccepted: {
      request_id: string;
      /** @constant */
      status: "processing";
      poll_url: string;
    };
    RunDurations: {
      asked_at: string;
      answer_ms: number | null;
      archive_ms: number | null;
    };
    /** @enum {string} */
    RunKind: "ask" | "action" | "task" | "archive" | "call" | "trial";
    RunPage: {
      results: components["schemas"]["RunSummary"][];
      next: string | null;
    };
    RunReplay: {
      /** @enum {string} */
      stage?: "analyzer" | "assembler" | "final_responder";
      model?: string | null;
      prompt?: string | null;
    };
    RunState: {
      request_id: string;
      user_id: string;
      query: string;
      attachment_ids: string[];
      assistant: string;
      conversation_id: string | null;
      kind: string;
      status: components["schemas"]["Status"];
      archive_status: components["schemas"]["ArchiveStatus"];
      final_answer: string | null;
      error_code: string | null;
      error_message: string | null;
      degraded: string[];
      limited: ("budget" | "stopped") | null;
      /** @enum {string} */
      memory: "ok" | "degraded" | "unavailable";
      memory_reasons: string[];
      sources: components["schemas"]["Source"][];
      used: string[];
      searched: components["schemas"]["Searched"] | null;
      buttons: components["schemas"]["Button"][];
      attachments: string[];
      steps: components["schemas"]["TaskStepState"][];
      timings: {
        [key: string]: string | null;
      };
      attempt: number;
      retries: number;
      /** @enum {string} */
      priority: "high" | "normal" | "low";
      run_at: string | null;
      attributes: {
        [key: string]: unknown;
      };
      replaced: string[];
      is_paused: boolean;
      action: components["schemas"]["ExecutedAction"] | null;
    };
    RunSummary: {
      request_id: string;
      user_id: string;
      query: string;
      answer: string | null;
      assistant: string;
      conversation_id: string | null;
      kind: string;
      source: string;
      status: components["schemas"]["Status"];
      archive_status: components["schemas"]["ArchiveStatus"];
      error_code: string | null;
      error_message: string | null;
      limited: ("budget" | "stopped") | null;
      /** @enum {string} */
      memory: "ok" | "degraded" | "unavailable";
      created_at: string;
      completed_at: string | null;
      /** @enum {string} */
      priority: "high" | "normal" | "low";
      run_at: string | null;
      attributes: {
        [key: string]: unknown;
      };
      replaces: string | null;
      action: components["schemas"]["ExecutedAction"] | null;
    };
    RunTransition: {
      happened: string;
      at: string;
      details: {
        [key: string]: unknown;
      } | null;
    };
    SavedFilter: {
      /** @enum {string} */
      list: "runs" | "users";
      name: string;
      query: string;
    };
    SavedFilterList: {
      results: components["schemas"]["SavedFilter"][];
    };
    Schedule: {
      id: string;
      user_id: string;
      query: string;
      cron: string;
      timezone: string;
      assistant: string;
      conversation_id: string | null;
      /** @enum {string} */
      catch_up: "none" | "last" | "all";
      next_at: string | null;
      last_at: string | null;
      paused_at: string | null;
      error: string | null;
      created_at: string;
    };
    ScheduleList: {
      results: components["schemas"]["Schedule"][];
    };
    ScheduleRequest: {
      user_id: string;
      query: string;
      cron: string;
      timezone?: string | null;
      assistant?: string;
      conversation_id?: string | null;
      /** @enum {string} */
      catch_up?: "none" | "last" | "all";
    };
    ScheduleUpdate: {
      query?: string | null;
      cron?: string | null;
      timezone?: string | null;
      catch_up?: ("none" | "last" | "all") | null;
      paused?: boolean | null;
    };
    SearchQuery: {
      user_id: string;
      query: string;
      tags?: string[] | null;
      scope?: ("hot" | "warm" | "cold") | null;
      from?: string | null;
      to?: string | null;
      as_of?: string | null;
      filters?: {
        [key: string]: unknown;
      } | null;
      limit?: number;
      summaries?: boolean;
      facts?: boolean;
    };
    Searched: {
      messages: number;
      confidence: number | null;
      found: ("yes" | "perhaps" | "no") | null;
    };
    SecretRotation: {
      hours?: number;
    };
    SharedConversation: {
      title: string | null;
      assistant: string;
      assistant_title: string;
      shared_at: string;
      expires_at: string;
      messages: components["schemas"]["SharedMessage"][];
      next: number | null;
    };
    SharedEvidence: {
      number: number | null;
      speaker: string | null;
      said_at: string;
      text: string;
    };
    SharedMessage: {
      /** @enum {string} */
      role: "user" | "assistant";
      content: string;
      agent: string | null;
      images: number;
      evidence: components["schemas"]["SharedEvidence"][];
      created_at: string;
    };
    SharedToken: {
      token: string;
      after?: number;
    };
    ShownAction: {
      id: string;
      fingerprint: string;
    };
    Source: {
      id: string;
      /** @enum {string} */
      kind: "turn" | "summary" | "recent" | "fact";
      score: number;
      number: number | null;
      origins: components["schemas"]["MemoryOrigin"][];
    };
    Specs: {
      specs: {
        [key: string]: string;
      };
    };
    SpendingList: {
      results: components["schemas"]["SpendingRow"][];
      dollars: number;
      keys: number;
    };
    SpendingRow: {
      key: string;
      user_name: string | null;
      runs: number;
      calls: number;
      tokens_in: number;
      tokens_out: number;
      dollars: number;
      unpriced: number;
    };
    StageSpan: {
      /** @enum {string} */
      stage: "queue" | "analyzer" | "draft_builder" | "assembler" | "final_responder" | "archivist";
      /** @enum {string} */
      state: "done" | "running" | "failed";
      began_ms: number;
      ms: number | null;
      calls: number;
      model_ms: number;
      is_degraded: boolean;
      why: string | null;
    };
    /** @enum {string} */
    Status: "NEW" | "ANALYZING" | "ANALYZED" | "ASSEMBLING" | "READY" | "RESPONDING" | "COMPLETED" | "FAILED";
    StuckRun: {
      request_id: string;
      user_id: string;
      user_name: string | null;
      status: string;
      why: string;
      since: string;
    };
    SyncRequest: {
      business_id?: string | null;
    };
    TaskStepState: {
      number: number;
      title: string;
      tool: string | null;
      depends_on: number[];
      /** @enum {string} */
      status: "pending" | "running" | "waiting" | "done" | "failed" | "in_doubt" | "skipped";
      error_code: string | null;
      started_at: string | null;
      ended_at: string | null;
    };
    ToolExecution: {
      try: number;
      attempt: number;
      call_id: string;
      tool: string;
      /** @enum {string} */
      effect: "read" | "write" | "dangerous";
      /** @enum {string} */
      status: "started" | "done" | "failed" | "in_doubt";
      arguments: unknown;
      result: unknown;
      ms: number | null;
      created_at: string;
    };
    ToolState: {
      name: string;
      domain: string;
      /** @enum {string} */
      effect: "read" | "write" | "dangerous";
      description: string;
    };
    Trace: {
      run: components["schemas"]["TracedRun"];
      took: components["schemas"]["RunDurations"];
      waited_for: components["schemas"]["PreviousRun"] | null;
      waiting: components["schemas"]["QueuedRun"][];
      stages: components["schemas"]["StageSpan"][];
      history: components["schemas"]["RunTransition"][];
      calls: components["schemas"]["ModelCall"][];
      costs: components["schemas"]["TryCost"][];
      tools: components["schemas"]["ToolExecution"][];
      steps: components["schemas"]["TracedStep"][];
      prompts: components["schemas"]["UsedPrompt"][];
      memories: components["schemas"]["RetrievedMemory"][];
    };
    TracedLog: {
      id: string;
      run_id: string;
      /** @enum {string} */
      message_type: "user_query" | "assistant_response";
      content: string;
      speaker: string | null;
      conversation: string;
      external_id: string | null;
      occurred_at: string;
      created_at: string;
    };
    TracedRun: {
      id: string;
      seq: number;
      user_id: string;
      user_query: string;
      assistant: string;
      conversation_id: string | null;
      kind: string;
      source: string;
      metadata: {
        [key: string]: unknown;
      } | null;
      attachment_ids: string[];
      status: components["schemas"]["Status"];
      archive_status: components["schemas"]["ArchiveStatus"];
      lane: number;
      try: number;
      attempt: number;
      priority: number;
      run_at: string | null;
      attributes: {
        [key: string]: unknown;
      } | null;
      is_paused: boolean;
      deaths: number;
      analysis_result: {
        [key: string]: unknown;
      } | null;
      sources: {
        [key: string]: unknown;
      }[] | null;
      searched: {
        [key: string]: unknown;
      } | null;
      draft_context: string | null;
      final_context_payload: string | null;
      final_answer: string | null;
      error_code: string | null;
      error_message: string | null;
      degraded: string[];
      limited: ("budget" | "stopped") | null;
      /** @enum {string} */
      memory: "ok" | "degraded" | "unavailable";
      memory_reasons: string[];
      cancel_requested_at: string | null;
      created_at: string;
      updated_at: string;
      claimed_at: string | null;
      analyzing_at: string | null;
      analyzed_at: string | null;
      assembling_at: string | null;
      ready_at: string | null;
      responding_at: string | null;
      completed_at: string | null;
      failed_at: string | null;
      archived_at: string | null;
      replaced: string[] | null;
      buttons: {
        [key: string]: unknown;
      }[] | null;
      drawn: string[] | null;
      steps: components["schemas"]["TaskStepState"][] | null;
    };
    TracedStep: {
      number: number;
      title: string;
      tool: string | null;
      arguments: {
        [key: string]: unknown;
      } | null;
      prompt: string | null;
      depends_on: number[];
      /** @enum {string} */
      status: "pending" | "running" | "waiting" | "done" | "failed" | "in_doubt" | "skipped";
      result: {
        [key: string]: unknown;
      } | null;
      started_at: string | null;
      ended_at: string | null;
    };
    TrialSet: {
      name: string;
      runs: components["schemas"]["TrialSetRun"][];
    };
    TrialSetList: {
      results: components["schemas"]["TrialSetSummary"][];
    };
    TrialSetRun: {
      request_id: string;
      user_id: string;
      user_name: string | null;
      query: string;
      assistant: string;
      answer: string | null;
      created_at: string;
      tokens: number;
      dollars: number | null;
    };
    TrialSetRuns: {
      run_ids: string[];
    };
    TrialSetSummary: {
      name: string;
      runs: number;
      changed_by: string;
      updated_at: string;
    };
    TryCost: {
      try: number;
      calls: number;
      attempts: number;
      tokens_in: number;
      tokens_cached: number;
      tokens_out: number;
      ms: number;
      price: number;
      unpriced: number;
    };
    UsedPrompt: {
      role: string;
      version: number | null;
      current_version: number | null;
      text: string | null;
    };
    User: {
      user_id: string;
      external_id: string;
    };
    UserBudget: {
      daily_tokens: number | null;
      daily_dollars: number | null;
      is_own: boolean;
      changed_by: string | null;
      updated_at: string | null;
    };
    UserSession: {
      id: string;
      /** @enum {string} */
      method: "password" | "recovery";
      created_at: string;
      refreshed_at: string;
      expires_at: string;
    };
    UserSessionList: {
      results: components["schemas"]["UserSession"][];
    };
    UserSpending: {
      user_id: string;
      tokens_today: number;
      dollars_today: number;
      tokens: number;
      dollars: number;
      daily_tokens: number | null;
      daily_dollars: number | null;
      is_spent: boolean;
      renewed_at: string;
    };
    UserTotals: {
      users: number;
      errors: number;
      dollars: number;
    };
    WaitingAction: {
      id: string;
      user_id: string;
      user_name: string | null;
      conversation_id: string | null;
      run_id: string;
      assistant: string | null;
      tool: string;
      title: components["schemas"]["Phrase"] | string | null;
      /** @enum {string} */
      effect: "read" | "write" | "dangerous";
      created_at: string;
      expires_at: string;
    };
    WaitingActionPage: {
      results: components["schemas"]["WaitingAction"][];
      next: string | null;
    };
    Webhook: {
      id: string;
      user_id: string | null;
      url: string;
      events: (("run.completed" | "run.failed" | "run.approval_required" | "memory.added" | "memory.forgotten" | "fact.changed" | "task.progress") | "user.erased")[];
      texts: boolean;
      /** @enum {string} */
      state: "enabled" | "asked" | "gone" | "failing" | "queue_full";
      waiting: number;
      failing_since: string | null;
      paused_until: string | null;
      created_at: string;
    };
    WebhookChange: {
      url?: string | null;
      events?: (("run.completed" | "run.failed" | "run.approval_required" | "memory.added" | "memory.forgotten" | "fact.changed" | "task.progress") | "user.erased")[] | null;
      texts?: boolean | null;
      enabled?: boolean | null;
    };
    WebhookDelivery: {
      id: string;
      type: ("run.completed" | "run.failed" | "run.approval_required" | "memory.added" | "memory.forgotten" | "fact.changed" | "task.progress") | "user.erased";
      data: {
        [key: string]: unknown;
      };
      /** @enum {string} */
      state: "waiting" | "delivered" | "failed";
      attempts: number;
      status: number | null;
      error: ("unknown_host" | "not_public" | "not_https" | "timeout" | "unreachable" | "no_answer") | null;
      created_at: string;
      changed_at: string;
      next_at: string | null;
    };
    WebhookDeliveryPage: {
      results: components["schemas"]["WebhookDelivery"][];
      next: string | null;
    };
    WebhookList: {
      results: components["schemas"]["Webhook"][];
    };
    WhatsappCheck: {
      state: string | null;
      is_linked: boolean | null;
    };
    WhatsappChoice: {
      instance: string;
    };
  };
  responses: never;
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
  get_runs: {
    parameters: {
      query?: {
        user_id?: string;
        status?: "NEW" | "ANALYZING" | "ANALYZED" | "ASSEMBLING" | "READY" | "RESPONDING" | "COMPLETED" | "FAILED";
        kind?: "ask" | "action" | "task" | "archive" | "call" | "trial";
        conversation_id?: string;
        q?: string;
        from?: string;
        to?: string;
        attributes?: string;
        before?: string;
        limit?: number;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["RunPage"];
        };
      };
    };
  };
  post_run: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewRun"];
      };
    };
    responses: {
      202: {
        content: {
          "application/json": components["schemas"]["RunAccepted"];
        };
      };
    };
  };
  get_run: {
    parameters: {
      query?: {
        wait?: number;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["RunState"];
        };
      };
    };
  };
  get_trace: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Trace"];
        };
      };
    };
  };
  get_events: {
    parameters: {
      query?: {
        last_event_id?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
      };
      204: {
      };
    };
  };
  post_cancel: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      202: {
        content: {
          "application/json": components["schemas"]["CancelAccepted"];
        };
      };
    };
  };
  post_retry: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      202: {
        content: {
          "application/json": components["schemas"]["RunAccepted"];
        };
      };
    };
  };
  post_run_again: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      202: {
        content: {
          "application/json": components["schemas"]["RunAccepted"];
        };
      };
    };
  };
  post_run_replay: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["RunReplay"];
      };
    };
    responses: {
      202: {
        content: {
          "application/json": components["schemas"]["RunAccepted"];
        };
      };
    };
  };
  post_press: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ButtonPress"];
      };
    };
    responses: {
      202: {
        content: {
          "application/json": components["schemas"]["RunAccepted"];
        };
      };
    };
  };
  get_conversations: {
    parameters: {
      query?: {
        user_id?: string;
        q?: string;
        archived?: boolean;
        before?: string;
        limit?: number;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ConversationPage"];
        };
      };
    };
  };
  post_conversation: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewConversation"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["OpenedConversation"];
        };
      };
    };
  };
  get_conversation: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Conversation"];
        };
      };
    };
  };
  delete_conversation: {
    parameters: {
      query?: {
        doubtful?: boolean;
        preview?: boolean;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ForgottenConversation"];
        };
      };
    };
  };
  patch_conversation: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ConversationChange"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Conversation"];
        };
      };
    };
  };
  post_clear: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ClearResult"];
        };
      };
    };
  };
  get_messages: {
    parameters: {
      query?: {
        role?: "user" | "assistant" | "system" | "tool";
        runs?: boolean;
        around?: string;
        after?: string;
        before?: string;
        limit?: number;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["MessagePage"];
        };
      };
    };
  };
  post_link: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewLink"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["CreatedLink"];
        };
      };
    };
  };
  get_links: {
    parameters: {
      query?: {
        user_id?: string;
        conversation_id?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["LinkList"];
        };
      };
    };
  };
  delete_link: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {
      };
    };
  };
  post_shared: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["SharedToken"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["SharedConversation"];
        };
      };
    };
  };
  post_attachment: {
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["Attachment"];
        };
      };
    };
  };
  get_attachment: {
    parameters: {
      query?: {
        user_id?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Attachment"];
        };
      };
    };
  };
  delete_attachment: {
    parameters: {
      query?: {
        user_id?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      204: {
      };
    };
  };
  get_content: {
    parameters: {
      query?: {
        user_id?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
      };
    };
  };
  get_actions: {
    parameters: {
      query?: {
        user_id?: string;
        status?: "pending" | "approved" | "rejected" | "expired" | "executing" | "done" | "failed" | "in_doubt";
        conversation_id?: string;
        run_id?: string;
        before?: string;
        limit?: number;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ActionPage"];
        };
      };
    };
  };
  post_decisions: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["ActionDecisions"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ActionPage"];
        };
      };
    };
  };
  get_action: {
    parameters: {
      query?: {
        user_id?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Action"];
        };
      };
    };
  };
  patch_action: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ActionEdit"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Action"];
        };
      };
    };
  };
  post_approve: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ActionDecision"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Action"];
        };
      };
    };
  };
  post_reject: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ActionDecision"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Action"];
        };
      };
    };
  };
  post_search: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["SearchQuery"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["MemoryPage"];
        };
      };
    };
  };
  get_memories: {
    parameters: {
      query?: {
        user_id?: string;
        level?: number;
        before?: string;
        limit?: number;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["MemoryPage"];
        };
      };
    };
  };
  post_memories: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewMemories"];
      };
    };
    responses: {
      202: {
        content: {
          "application/json": components["schemas"]["MemoriesAccepted"];
        };
      };
    };
  };
  get_memory: {
    parameters: {
      query?: {
        user_id?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Memory"];
        };
      };
    };
  };
  delete_memory: {
    parameters: {
      query?: {
        user_id?: string;
        doubtful?: boolean;
        preview?: boolean;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ForgetResult"];
        };
      };
    };
  };
  post_correct: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewCorrection"];
      };
    };
    responses: {
      202: {
        content: {
          "application/json": components["schemas"]["CorrectionAccepted"];
        };
      };
    };
  };
  get_sources: {
    parameters: {
      query?: {
        user_id?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["MemorySources"];
        };
      };
    };
  };
  get_history: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["MemoryHistory"];
        };
      };
    };
  };
  get_totals: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["MemoryTotals"];
        };
      };
    };
  };
  get_days: {
    parameters: {
      query?: {
        year?: number;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["MemoryDays"];
        };
      };
    };
  };
  get_facts: {
    parameters: {
      query?: {
        state?: "all" | "true" | "uncertain" | "replaced" | "ended" | "corrected" | "wrong" | "unused";
        about?: string;
        as_of?: string;
        before?: string;
        limit?: number;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["FactPage"];
        };
      };
    };
  };
  post_merge_names: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["NameMerge"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["NameMerged"];
        };
      };
    };
  };
  post_decide: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["FactDecision"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["FactDecision"];
        };
      };
    };
  };
  post_correct_fact: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["FactCorrection"];
      };
    };
    responses: {
      202: {
        content: {
          "application/json": components["schemas"]["FactCorrected"];
        };
      };
    };
  };
  get_documents: {
    parameters: {
      query?: {
        user_id?: string;
        before?: string;
        limit?: number;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["DocumentPage"];
        };
      };
    };
  };
  post_document: {
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["AddedDocument"];
        };
      };
    };
  };
  post_text: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewTextDocument"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["AddedDocument"];
        };
      };
    };
  };
  get_passages: {
    parameters: {
      query: {
        user_id?: string;
        q: string;
        mode?: "mix" | "local" | "global" | "hybrid";
        limit?: number;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["PassageList"];
        };
      };
    };
  };
  get_document: {
    parameters: {
      query?: {
        user_id?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["DocumentState"];
        };
      };
    };
  };
  delete_document: {
    parameters: {
      query?: {
        user_id?: string;
        answers?: boolean;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["DocumentRemoved"];
        };
      };
    };
  };
  get_document_text: {
    parameters: {
      query?: {
        user_id?: string;
        limit?: number;
        after?: number;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["DocumentText"];
        };
      };
    };
  };
  get_user: {
    parameters: {
      query: {
        external_id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["User"];
        };
      };
    };
  };
  post_user: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewUser"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["User"];
        };
      };
    };
  };
  get_user_events: {
    parameters: {
      query?: {
        wait?: number;
        last_event_id?: string;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
      };
    };
  };
  get_spending: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["UserSpending"];
        };
      };
    };
  };
  get_profile: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Profile"];
        };
      };
    };
  };
  put_profile: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewProfile"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Profile"];
        };
      };
    };
  };
  get_preferences: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Preferences"];
        };
      };
    };
  };
  put_preferences: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewPreferences"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Preferences"];
        };
      };
    };
  };
  get_export: {
    parameters: {
      query?: {
        format?: "maas" | "aimem" | "memorywire";
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
      };
    };
  };
  post_import: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ImportedTurn"] | components["schemas"]["ImportedTurn"][] | components["schemas"]["ImportedConversation"][];
      };
    };
    responses: {
      202: {
        content: {
          "application/json": components["schemas"]["ImportAccepted"];
        };
      };
    };
  };
  get_imported_conversations: {
    parameters: {
      query?: {
        before?: string;
        limit?: number;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ImportedDialoguePage"];
        };
      };
    };
  };
  get_imported_messages: {
    parameters: {
      query: {
        conversation: string;
        around?: string;
        after?: string;
        before?: string;
        limit?: number;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ImportedDialogueMessages"];
        };
      };
    };
  };
  get_own_keys: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["OwnKeyList"];
        };
      };
    };
  };
  post_own_key: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewOwnKey"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["CreatedKey"];
        };
      };
    };
  };
  delete_own_key: {
    parameters: {
      path: {
        id: string;
        key: string;
      };
    };
    responses: {
      204: {
      };
    };
  };
  delete_user: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["EraseResult"];
        };
      };
    };
  };
  get_webhooks: {
    parameters: {
      query?: {
        user_id?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["WebhookList"];
        };
      };
    };
  };
  post_webhook: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewWebhook"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["CreatedWebhook"];
        };
      };
    };
  };
  get_webhook: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Webhook"];
        };
      };
    };
  };
  delete_webhook: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {
      };
    };
  };
  patch_webhook: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["WebhookChange"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Webhook"];
        };
      };
    };
  };
  post_rotate: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["SecretRotation"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["NewSecret"];
        };
      };
    };
  };
  get_deliveries: {
    parameters: {
      query?: {
        state?: "waiting" | "delivered" | "failed";
        before?: string;
        limit?: number;
      };
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["WebhookDeliveryPage"];
        };
      };
    };
  };
  post_replay: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["DeliveryReplay"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Replayed"];
        };
      };
    };
  };
  get_schedules: {
    parameters: {
      query?: {
        user_id?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ScheduleList"];
        };
      };
    };
  };
  post_schedule: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["ScheduleRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["Schedule"];
        };
      };
    };
  };
  get_schedule: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Schedule"];
        };
      };
    };
  };
  delete_schedule: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {
      };
    };
  };
  patch_schedule: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ScheduleUpdate"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Schedule"];
        };
      };
    };
  };
  get_assistants: {
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["AssistantList"];
        };
      };
    };
  };
  get_caller: {
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["CallerRights"];
        };
      };
    };
  };
  post_app_preview: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["AppRequest"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["AskingApp"];
        };
      };
    };
  };
  get_apps: {
    parameters: {
      query?: {
        user_id?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["AppList"];
        };
      };
    };
  };
  post_app: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["AppRequest"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["ConnectingApp"];
        };
      };
    };
  };
  delete_app: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {
      };
    };
  };
  get_admin_metrics: {
    parameters: {
      query?: {
        from?: string;
        to?: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["AdminMetrics"];
        };
      };
    };
  };
  get_admin_spending: {
    parameters: {
      query?: {
        by?: "day" | "user" | "assistant" | "model" | "stage";
        from?: string;
        to?: string;
        limit?: number;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["SpendingList"];
        };
      };
    };
  };
  get_budget: {
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["UserBudget"];
        };
      };
    };
  };
  put_budget: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewBudget"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["UserBudget"];
        };
      };
    };
  };
  delete_budget: {
    responses: {
      204: {
      };
    };
  };
  get_user_budget: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["UserBudget"];
        };
      };
    };
  };
  put_user_budget: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewBudget"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["UserBudget"];
        };
      };
    };
  };
  delete_user_budget: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      204: {
      };
    };
  };
  get_limits: {
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["LimitList"];
        };
      };
    };
  };
  put_limit: {
    parameters: {
      path: {
        limit: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewLimit"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["LimitList"];
        };
      };
    };
  };
  delete_limit: {
    parameters: {
      path: {
        limit: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["LimitList"];
        };
      };
    };
  };
  get_filters: {
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["SavedFilterList"];
        };
      };
    };
  };
  put_filter: {
    parameters: {
      path: {
        list: string;
        filter: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewFilter"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["SavedFilter"];
        };
      };
    };
  };
  delete_filter: {
    parameters: {
      path: {
        list: string;
        filter: string;
      };
    };
    responses: {
      204: {
      };
    };
  };
  get_prices: {
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ModelPriceList"];
        };
      };
    };
  };
  put_price: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewPrice"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ModelPriceList"];
        };
      };
    };
  };
  post_drop_price: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["PricedModel"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ModelPriceList"];
        };
      };
    };
  };
  get_inventory: {
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Inventory"];
        };
      };
    };
  };
  get_admin_runs: {
    parameters: {
      query?: {
        user_id?: string;
        status?: "NEW" | "ANALYZING" | "ANALYZED" | "ASSEMBLING" | "READY" | "RESPONDING" | "COMPLETED" | "FAILED";
        kind?: "ask" | "action" | "task" | "archive" | "call" | "trial";
        conversation_id?: string;
        q?: string;
        from?: string;
        to?: string;
        attributes?: string;
        assistant?: string;
        error_code?: string;
        queue?: "inbox" | "waiting" | "runnable" | "deferred" | "in_flight" | "paused" | "scheduled";
        before?: string;
        limit?: number;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["AdminRunPage"];
        };
      };
    };
  };
  post_cancel_runs: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["CancelSelection"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ChangedRuns"];
        };
      };
    };
  };
  post_retry_runs: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["RetrySelection"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ChangedRuns"];
        };
      };
    };
  };
  get_pauses: {
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["PauseList"];
        };
      };
    };
  };
  post_pause: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewPause"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Paused"];
        };
      };
    };
  };
  post_resume: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["PauseEnd"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Paused"];
        };
      };
    };
  };
  get_admin_actions: {
    parameters: {
      query?: {
        user_id?: string;
        before?: string;
        limit?: number;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["WaitingActionPage"];
        };
      };
    };
  };
  get_admin_memories: {
    parameters: {
      query?: {
        user_id?: string;
        tag?: string;
        level?: number;
        before?: string;
        limit?: number;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["AdminMemoryPage"];
        };
      };
    };
  };
  get_prompts: {
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["PromptList"];
        };
      };
    };
  };
  get_prompt: {
    parameters: {
      path: {
        role: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["PromptState"];
        };
      };
    };
  };
  put_prompt: {
    parameters: {
      path: {
        role: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["PromptChange"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["PromptState"];
        };
      };
    };
  };
  get_prompt_history: {
    parameters: {
      path: {
        role: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["PromptHistory"];
        };
      };
    };
  };
  post_trial: {
    parameters: {
      path: {
        role: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["PromptTrial"];
      };
    };
    responses: {
      202: {
        content: {
          "application/json": components["schemas"]["RunAccepted"];
        };
      };
    };
  };
  get_trial_sets: {
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["TrialSetList"];
        };
      };
    };
  };
  get_trial_set: {
    parameters: {
      path: {
        set: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["TrialSet"];
        };
      };
    };
  };
  put_trial_set: {
    parameters: {
      path: {
        set: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["TrialSetRuns"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["TrialSet"];
        };
      };
    };
  };
  delete_trial_set: {
    parameters: {
      path: {
        set: string;
      };
    };
    responses: {
      204: {
      };
    };
  };
  get_users: {
    parameters: {
      query?: {
        q?: string;
        sort?: "id" | "last_run" | "spend" | "errors";
        before?: string;
        limit?: number;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["AdminUserPage"];
        };
      };
    };
  };
  put_roles: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["RoleChange"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["AdminUser"];
        };
      };
    };
  };
  get_sessions: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["UserSessionList"];
        };
      };
    };
  };
  delete_sessions: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["EndedSessions"];
        };
      };
    };
  };
  post_account: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewAccount"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["Invitation"];
        };
      };
    };
  };
  post_reset: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ResetLink"];
        };
      };
    };
  };
  get_keys: {
    parameters: {
      query?: {
        before?: string;
        limit?: number;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["ApiKeyList"];
        };
      };
    };
  };
  post_key: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewApiKey"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["CreatedKey"];
        };
      };
    };
  };
  delete_key: {
    parameters: {
      path: {
        key: string;
      };
    };
    responses: {
      204: {
      };
    };
  };
  get_shared_documents: {
    parameters: {
      query?: {
        before?: string;
        limit?: number;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["DocumentPage"];
        };
      };
    };
  };
  post_shared_document: {
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["AddedDocument"];
        };
      };
    };
  };
  delete_shared_document: {
    parameters: {
      query?: {
        answers?: boolean;
      };
      path: {
        document: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["DocumentRemoved"];
        };
      };
    };
  };
  get_shared_webhooks: {
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["WebhookList"];
        };
      };
    };
  };
  post_shared_webhook: {
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewSharedWebhook"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["CreatedWebhook"];
        };
      };
    };
  };
  get_admin_audit: {
    parameters: {
      query?: {
        user_id?: string;
        action?: string;
        before?: string;
        limit?: number;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["AuditPage"];
        };
      };
    };
  };
  get_specs: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Specs"];
        };
      };
    };
  };
  put_specs: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewSpecs"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["Specs"];
        };
      };
    };
  };
  get_ads: {
    parameters: {
      path: {
        id: string;
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["AdsState"];
        };
      };
    };
  };
  post_ads_check: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ConnectionCheck"];
      };
    };
    responses: {
      200: {
        content: {
          "application/json": components["schemas"]["CheckResult"];
        };
      };
    };
  };
  post_ads_connections: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["NewConnections"];
      };
    };
    responses: {
      201: {
        content: {
          "application/json": components["schemas"]["AdsState"];
        };
      };
    };
  };
  post_ads_sync: {
    parameters: {
      path: {
        id: string;
      };
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["SyncRequest"];
      };
    };
    responses: {
      202: {
        content: {
          "application/json": components["schemas"]["AdsState"];
        };
      };
    };
  };
}
