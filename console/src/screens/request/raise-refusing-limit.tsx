import { Group } from '@mantine/core'
import type { Schemas } from '../../api/client.ts'
import { mayDoIn, useSession } from '../../app/session.tsx'
import { RaiseLimit } from '../../components/raise-limit.tsx'
import { findRefusingLimit } from './refusing-limit.ts'

interface RaiseRefusingLimitProps {
  request: Schemas['LoggedRequest']
  refusal: NonNullable<Schemas['RequestExplanation']['refusal']>
}

/** Offers to raise the limit that rejected the request, to those who may. */
export function RaiseRefusingLimit({ request, refusal }: RaiseRefusingLimitProps) {
  const session = useSession()
  const id = findRefusingLimit(refusal.details, request)
  if (id === null || !mayDoIn(session, request.workspace.id, 'budgets:write')) return null
  return (
    <Group>
      <RaiseLimit id={id} />
    </Group>
  )
}
