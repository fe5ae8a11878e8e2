/** Formats for an input of the type `datetime-local`: the time in the zone of the viewer, without the zone. */
export function formatLocalInput(iso: string | undefined): string {
  if (!iso) return ''
  const date = new Date(iso)
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 16)
}

/** The reverse; undefined if nothing is chosen. */
export function readLocalInput(value: string): string | undefined {
  return value === '' ? undefined : new Date(value).toISOString()
}
