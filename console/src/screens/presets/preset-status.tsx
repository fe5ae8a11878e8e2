import { Badge } from '@mantine/core'
import type { Schemas } from '../../api/client.ts'

const statusColors = { active: 'teal', disabled: 'gray', archived: 'orange' } as const

export function PresetStatus({ status }: { status: Schemas['Preset']['status'] }) {
  return (
    <Badge color={statusColors[status]} variant="light" tt="none" miw="max-content">
      {status}
    </Badge>
  )
}
