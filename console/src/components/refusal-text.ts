/** Why a quote says that the request would be refused: each format has its own place for the message. */
export function refusalTextOf(refusal: unknown): string {
  const { message, error } = (refusal ?? {}) as { message?: string; error?: { message?: string } }
  return message ?? error?.message ?? 'see the limits and guardrails'
}
