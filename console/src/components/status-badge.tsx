import { Badge } from '@mantine/core'
import type { Schemas } from '../api/client.ts'

type Status = Schemas['LoggedRequest']['status']

const colors: Record<Status, string> = {
  completed: 'teal',
  failed: 'red',
  cancelled: 'gray',
  refused: 'orange',
}

/** The final status of a request. */
export function StatusBadge({ status }: { status: Status }) {
  return (
    <Badge variant="dot" color={colors[status]} tt="none" miw="max-content">
      {status}
    </Badge>
  )
}
