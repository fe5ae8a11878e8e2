/** A record of a list that is ordered by time, and by id where times are equal. */
export interface TimePosition {
  created_at: string
  id: string
}

export function formatTimeCursor({ created_at, id }: { created_at: string; id: string | number }): string {
  return `${created_at}~${id}`
}

/** Undefined if the text is not such a cursor. */
export function parseTimeCursor(text: string): TimePosition | undefined {
  const [, created_at, id] = /^(\d{4}-[\dT:.-]{1,30}Z)~([\w-]{1,100})$/.exec(text) ?? []
  return created_at === undefined || id === undefined ? undefined : { created_at, id }
}
