"""Questions on the leads of one account read these leads by an index, however many other accounts have."""

from __future__ import annotations

from uuid import UUID

import psycopg
from psycopg.rows import DictRow

from maas.named_queries import query_texts

Connection = psycopg.Connection[DictRow]
ACCOUNTS, LEADS = 10, 2000
USER, ACCOUNT, AD_ACCOUNT = (UUID(int=number + 1) for number in (100, 200, 300))
OF_ACCOUNT, OF_AD_ACCOUNT = f"'{USER}', '{ACCOUNT}'", f"'{USER}', '{AD_ACCOUNT}'"
PERIOD = "'2026-11-01', '2026-11-08'"
LARGE = ("leads", "whatsapp_chats", "dialog_summaries", "whatsapp_messages", "creative_metrics_history")
ASKED = {
    "ads_sales_quality": f"{OF_ACCOUNT}, null, null",
    "ads_stage_counts": f"{OF_ACCOUNT}, {PERIOD}",
    "ads_creative_results": f"{OF_ACCOUNT}, {PERIOD}, '{AD_ACCOUNT}'",
    "ads_direction_results": f"{OF_ACCOUNT}, null, null",
    "ads_has_revenue": OF_ACCOUNT,
    "ads_count_leads": f"{OF_ACCOUNT}, null, null, null, null, null, null, 'hot'",
    "ads_leads": f"{OF_ACCOUNT}, null, null, true, null, null, null, null, 20",
    "ads_lead": f"{OF_ACCOUNT}, '5001', null",
    "ads_count_dialogs": f"{OF_ACCOUNT}, {PERIOD}, 'hot'",
    "ads_dialogs": f"{OF_ACCOUNT}, {PERIOD}, 'hot', 20",
    "ads_dialog_messages": f"{OF_ACCOUNT}, '77011000001@s.whatsapp.net', 0, 30, 500",
    "ads_search_summaries": f"{OF_ACCOUNT}, 'asked', null, 20",
    "ads_creative_figures": f"{OF_AD_ACCOUNT}, null, null",
}


def fill(connection: Connection) -> None:
    """Every account has the same leads, dialogues and figures; triggers would make the test slow."""
    connection.execute("set session_replication_role = replica")
    for number in range(ACCOUNTS):
        user, account, ad_account = (UUID(int=number + base) for base in (100, 200, 300))
        connection.execute("insert into user_accounts (id, user_id, name) values (%s, %s, 'Shop')", (account, user))
        connection.execute(
            """insert into ad_accounts (id, user_id, user_account_id, fb_id, name, currency, timezone)
               values (%s, %s, %s, 'act_1', 'Ads', 'USD', 'UTC')""",
            (ad_account, user, account),
        )
        connection.execute(
            """insert into user_creatives (user_id, user_account_id, ad_account_id, title, media_type)
               select %s, %s, %s, 'Creative ' || n, 'video' from generate_series(1, 20) n""",
            (user, account, ad_account),
        )
        connection.execute(
            """insert into creative_metrics_history (user_id, creative_id, day, spend)
               select user_id, id, date '2026-11-20' - n, 1 from user_creatives cross join generate_series(0, 99) n
               where user_account_id = %s""",
            (account,),
        )
        connection.execute(
            """insert into leads (user_id, user_account_id, phone, crm_lead_id, created_at, is_qualified, messages_in)
               select %s, %s, '7701' || (1000000 + n), n::text, timestamptz '2026-11-20' - n * interval '20 min',
                 n %% 13 = 0, n %% 7 from generate_series(1, %s) n""",
            (user, account, LEADS),
        )
        connection.execute(
            """insert into whatsapp_chats (user_id, user_account_id, jid, number, lead_id)
               select user_id, user_account_id, phone_digits || '@s.whatsapp.net', phone_digits, id from leads
               where user_account_id = %s""",
            (account,),
        )
        connection.execute(
            """insert into dialog_summaries (user_id, user_account_id, chat_jid, summary, temperature)
               select user_id, user_account_id, jid, 'Asked', 'hot' from whatsapp_chats where user_account_id = %s""",
            (account,),
        )
        connection.execute(
            """insert into whatsapp_messages (user_id, user_account_id, id, chat_jid, direction, text, sent_at)
               select user_id, user_account_id, jid || n, jid, 'in', 'Hi', timestamptz '2026-11-20' + n * interval '1 h'
               from whatsapp_chats cross join generate_series(1, 2) n where user_account_id = %s""",
            (account,),
        )
    connection.execute("analyze")


def test_no_question_reads_the_leads_of_all_accounts(connection: Connection) -> None:
    fill(connection)
    for name, arguments in ASKED.items():
        connection.execute(f"prepare asked as {query_texts()[name]}".encode())
        rows = connection.execute(f"explain execute asked ({arguments})".encode()).fetchall()
        plan = "\n".join(row["QUERY PLAN"] for row in rows)
        whole = [table for table in LARGE if f"Seq Scan on {table} " in plan]
        assert whole == [] and "Index" in plan, f"{name} reads all of {whole}:\n{plan}"
        connection.execute("deallocate asked")


def test_a_claim_looks_at_each_connection_once(connection: Connection) -> None:
    """Also when all are due, as after a day without orchestrators; it compares no connection with all others."""
    users = 2000
    connection.execute(
        """with made as (
             insert into user_accounts (user_id, name) select gen_random_uuid(), 'Shop' from generate_series(1, %s)
             returning id, user_id)
           insert into ad_accounts (user_id, user_account_id, fb_id, name, currency, timezone)
           select user_id, id, 'act_1', 'Ads', 'USD', 'UTC' from made""",
        (users,),
    )
    connection.execute("analyze")
    read = "select seq_tup_read from pg_stat_xact_user_tables where relname = 'ads_syncs'"
    with connection.transaction():
        claimed = connection.execute("select id from maas_claim_ads_sync(60, interval '1 minute')").fetchall()
        (row,) = connection.execute(read).fetchall()
    assert len(claimed) == 1 and row["seq_tup_read"] <= 4 * users, row
