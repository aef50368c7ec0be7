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
    "/v1/context": {
        post: operations["post_context"];
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
    "/v1/schedules": {
        get: operations["get_schedules"];
        post: operations["post_schedule"];
    };
    "/v1/schedules/{id}": {
        get: operations["get_schedule"];
        delete: operations["delete_schedule"];
        patch: operations["patch_schedule"];
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
        /** @enum {string} */
        ArchiveStatus: "PENDING" | "ARCHIVING" | "ARCHIVED" | "SKIPPED" | "FAILED";
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
        Button: {
            id: string;
            label: string;
        };
        ButtonPress: {
            user_id: string;
            button: string;
        };
        CancelAccepted: {
            request_id: string;
            /** @constant */
            status: "cancelling";
        };
        CheckResult: {
            facebook: components["schemas"]["FacebookCheck"] | null;
            crm: components["schemas"]["CrmCheck"] | null;
            whatsapp: components["schemas"]["WhatsappCheck"] | null;
        };
        ClearResult: {
            messages: number;
        };
        ConnectionCheck: {
            facebook?: components["schemas"]["FacebookToken"] | null;
            crm?: components["schemas"]["CrmToken"] | null;
            whatsapp?: components["schemas"]["WhatsappChoice"] | null;
        };
        ContextQuery: {
            user_id: string;
            query: string;
            max_tokens?: number;
            as_of?: string | null;
        };
        ContextResult: {
            context: string;
            tokens: number;
            sources: components["schemas"]["Source"][];
            found: boolean;
            confidence: number;
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
        CrmCheck: {
            stages: number;
            currency: string;
            token_ends_at: string | null;
        };
        CrmToken: {
            url: string;
            token: string;
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
        Json: (null | boolean | number) | string | unknown[] | {
            [key: string]: unknown;
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
        NameMerge: {
            name: string;
            same_as: string;
        };
        NameMerged: {
            facts: number;
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
        NewPreferences: {
            preferences: {
                [key: string]: string;
            };
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
        Profile: {
            name: string | null;
            position: string | null;
            department: string | null;
            language: ("ru" | "en") | null;
            timezone: string | null;
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
            200: {};
            204: {};
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
            204: {};
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
            200: {};
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
    post_context: {
        requestBody: {
            content: {
                "application/json": components["schemas"]["ContextQuery"];
            };
        };
        responses: {
            200: {
                content: {
                    "application/json": components["schemas"]["ContextResult"];
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
            200: {};
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
            200: {};
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
            204: {};
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
            204: {};
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
