/** Where a conversation that a file brought is read, at its end or around a message. */
export function placeOfImported(conversation: string, around?: string): string {
  return `/imported?${new URLSearchParams({ conversation, ...(around && { around }) })}`;
}
