import { Alert, Badge } from '@mantine/core'

/** The set of configuration files that declares a record of the API; null if there is none. */
export function setOf(record: unknown): string | null {
  if (typeof record !== 'object' || record === null || !('managed_by' in record)) return null
  return typeof record.managed_by === 'string' ? record.managed_by : null
}

const warning = 'Changes here are overwritten by the next apply.'

/** In a list, the mark of a record that configuration files declare. */
export function ManagedBadge({ record }: { record: unknown }) {
  const set = setOf(record)
  if (set === null) return null
  return (
    <Badge size="xs" variant="default" ml="xs" tt="none" title={`Managed by ${set}. ${warning}`}>
      Managed by {set}
    </Badge>
  )
}

/** Above a record that configuration files declare. */
export function ManagedNotice({ reply }: { reply: unknown }) {
  const data = typeof reply === 'object' && reply !== null && 'data' in reply ? reply.data : null
  const set = setOf(data)
  if (set === null) return null
  return (
    <Alert color="blue" variant="light" title={`Managed by ${set}`} role="note">
      {warning}
    </Alert>
  )
}
