import { Badge } from '@mantine/core'
import type { Schemas } from '../../api/client.ts'
import { stateTexts } from './delivery-state.ts'

/** The state of the delivery. */
export function StateBadge({ state }: { state: Schemas['ObservabilityDeliveryStatus']['state'] }) {
  const { label, color } = stateTexts[state]
  return (
    <Badge color={color} variant="light" tt="none" miw="max-content">
      {label}
    </Badge>
  )
}
