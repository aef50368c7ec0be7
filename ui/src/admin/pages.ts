// The pages of administrators, in their order.

export const PAGES = [
  "dashboard",
  "runs",
  "actions",
  "users",
  "spending",
  "limits",
  "prompts",
  "memories",
  "documents",
  "inventory",
  "keys",
  "webhooks",
  "ads",
  "audit",
] as const;

export function placeOfPage(page: (typeof PAGES)[number]): string {
  return page === "dashboard" ? "/admin" : `/admin/${page}`;
}
