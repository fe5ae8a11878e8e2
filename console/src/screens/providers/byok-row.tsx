import { ActionIcon, Badge, Group, Paper, Stack, Text } from '@mantine/core'
import { client, type Schemas } from '../../api/client.ts'
import { Id } from '../../components/copy.tsx'
import {
  CredentialTestButton,
  CredentialTestResult,
  useCredentialTest,
} from '../../components/credential-test.tsx'
import { HealthBadge, LastError, ProblemList } from '../../components/health-state.tsx'
import { DownIcon, GripIcon, UpIcon } from '../../components/icons.tsx'
import { ManagedBadge } from '../../components/managed.tsx'
import { Time } from '../../components/time.tsx'
import { UptimeStrip } from '../../components/uptime-strip.tsx'
import { ByokActions } from './byok-actions.tsx'
import { describeLimits, nameOfKey, usageOf } from './byok-fields.ts'
import type { ByokKey } from './queries.ts'

interface ByokRowProps {
  byokKey: ByokKey
  position: number
  count: number
  health: Schemas['ByokKeyHealth'] | undefined
  canMove: boolean
  canWrite: boolean
  isDragged: boolean
  onDragStart: () => void
  onDrop: () => void
  onMove: (step: 1 | -1) => void
}

export function ByokRow(props: ByokRowProps) {
  const { byokKey, health, canMove, canWrite, isDragged, onDragStart, onDrop } = props
  const { id } = byokKey
  const name = nameOfKey(byokKey)
  const test = useCredentialTest(() => client.POST('/byok/{id}/test', { params: { path: { id } }, body: {} }))
  return (
    <Paper
      component="li"
      withBorder
      p="sm"
      aria-label={name}
      draggable={canMove}
      onDragStart={onDragStart}
      onDragOver={(event) => event.preventDefault()}
      onDrop={onDrop}
      style={{ opacity: isDragged ? 0.5 : 1 }}
    >
      <Group justify="space-between" align="flex-start" gap="xs">
        <Group gap="xs" align="flex-start" wrap="nowrap" style={{ flex: '1 1 240px', minWidth: 0 }}>
          {canWrite && <Handle {...props} name={name} />}
          <KeySummary byokKey={byokKey} name={name} />
          <ManagedBadge record={byokKey} />
        </Group>
        <Group gap="xs">
          {health && <HealthBadge state={health.state} />}
          {health && <UptimeStrip name={name} hours={health.hours} />}
          {canWrite && <CredentialTestButton test={test} label={`Test ${name}`} />}
          {canWrite && <ByokActions byokKey={byokKey} />}
        </Group>
      </Group>
      <Stack gap="xs" pt={health?.last_error || test.data || test.error ? 'xs' : 0}>
        {health && health.problem_count > 0 ? (
          <ProblemList problems={health.problems} count={health.problem_count} />
        ) : (
          health?.last_error && (
            <Text size="xs" c="dimmed" component="div">
              <LastError error={health.last_error} />
            </Text>
          )
        )}
        <CredentialTestResult test={test} />
      </Stack>
    </Paper>
  )
}

function Handle({ name, position, count, canMove, onMove }: ByokRowProps & { name: string }) {
  if (count < 2) return null
  return (
    <Group gap={2} wrap="nowrap">
      <span style={{ cursor: 'grab', display: 'inline-flex' }}>
        <GripIcon />
      </span>
      <Stack gap={0}>
        <ActionIcon
          size="xs"
          variant="subtle"
          color="gray"
          disabled={!canMove || position === 1}
          aria-label={`Move ${name} up`}
          onClick={() => onMove(-1)}
        >
          <UpIcon />
        </ActionIcon>
        <ActionIcon
          size="xs"
          variant="subtle"
          color="gray"
          disabled={!canMove || position === count}
          aria-label={`Move ${name} down`}
          onClick={() => onMove(1)}
        >
          <DownIcon />
        </ActionIcon>
      </Stack>
    </Group>
  )
}

const usageBadges = {
  first: null,
  fallback: 'fallback',
  required: 'replaces the shared credential',
  only: 'no shared credential',
}

function KeySummary({ byokKey, name }: { byokKey: ByokKey; name: string }) {
  const usage = usageBadges[usageOf(byokKey)]
  const limits = describeLimits(byokKey)
  return (
    <div style={{ minWidth: 0 }}>
      <Group gap={6}>
        <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
          {name}
        </Text>
        {byokKey.disabled && (
          <Badge color="gray" variant="light" tt="none">
            disabled
          </Badge>
        )}
        {usage && (
          <Badge variant="light" tt="none">
            {usage}
          </Badge>
        )}
      </Group>
      <Text size="xs" c="dimmed" component="div">
        {byokKey.name && `${byokKey.label} · `}
        {limits.length > 0 && `only ${limits.join(', ')} · `}
        added <Time iso={byokKey.created_at} style="age" />
      </Text>
      <Text size="xs" component="div">
        <Id value={byokKey.id} />
      </Text>
    </div>
  )
}
