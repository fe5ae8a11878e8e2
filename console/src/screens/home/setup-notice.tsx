import { Button, Group, Paper, Text } from '@mantine/core'
import type { Step } from './get-started/checklist.tsx'

/** Steps that lead to a first request; others can wait. */
const leading = ['provider', 'model', 'key', 'request']

interface SetupNoticeProps {
  steps: Step[]
  onOpen: (step: string) => void
}

/** What is missing for a first request to a model. Nothing once all of it is there. */
export function SetupNotice({ steps, onOpen }: SetupNoticeProps) {
  const missing = steps.filter(({ id, isDone }) => leading.includes(id) && !isDone)
  if (missing.length === 0) return null
  const isSent = !missing.some(({ id }) => id === 'request')
  return (
    <Paper component="section" withBorder p="md" aria-label="Setup">
      <Group justify="space-between" gap="sm">
        <div style={{ flex: '1 1 260px' }}>
          <Text fw={600}>{isSent ? 'Finish the setup' : 'Send your first request'}</Text>
          <Text size="sm" c="dimmed">
            {isSent
              ? 'Requests use the sandbox until a provider has a key.'
              : 'Figures appear here with the first request.'}
          </Text>
        </div>
        <Group gap="xs">
          {missing.map(({ id, title }) => (
            <Button key={id} size="xs" variant="default" onClick={() => onOpen(id)}>
              {title}
            </Button>
          ))}
        </Group>
      </Group>
    </Paper>
  )
}
