/** The reason a quote gives for a rejection of the request: each format has its own field for the message. */
export function refusalTextOf(refusal: unknown): string {
  const { message, error } = (refusal ?? {}) as { message?: string; error?: { message?: string } }
  return message ?? error?.message ?? 'see the limits and guardrails'
}
