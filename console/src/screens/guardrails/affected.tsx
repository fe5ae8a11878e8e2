import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { formatCount } from '../../format/number.ts'
import type { Guardrail } from './draft.ts'
import { keyAssignmentsOptions } from './key-assignments.tsx'
import { memberAssignmentsOptions } from './member-assignments.tsx'

/** The keys and members that a guardrail applies to, in a sentence. */
export function Affected({ guardrail }: { guardrail: Guardrail }) {
  const keys = useQuery(keyAssignmentsOptions(guardrail.id)).data?.total_count
  const members = useQuery(memberAssignmentsOptions(guardrail.id)).data?.total_count
  if (guardrail.scope === 'organization')
    return <Text size="sm">Applies to every request of the organization.</Text>
  if (keys === undefined || members === undefined) return <Text size="sm">…</Text>
  if (keys + members === 0)
    return <Text size="sm">Applies to nothing yet. Assign it to keys or members after saving.</Text>
  return (
    <Text size="sm">
      Applies to {plural(keys, 'key')} and {plural(members, 'member')}, with their next request.
    </Text>
  )
}

export function plural(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`
}
