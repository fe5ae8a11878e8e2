export function rootCauseMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause ? rootCauseMessage(error.cause) : error.message
}
